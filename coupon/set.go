package coupon

// Holder says that an owner holds a rule for a product, or for EveryProduct.
type Holder struct {
	Owner         string // see OwnerOf
	Product, Rule int64
}

// Set is rules and facts that belong together.
type Set struct {
	Rules    []Rule
	Excluded []int64 // products
	Holders  []Holder
}
