package sheet

// Joining chunks must not read their bytes again, so the CRC-32 of the whole is
// computed from the parts' CRCs and lengths. A CRC is the remainder of a
// polynomial over GF(2); bit 31 holds the coefficient of x^0 (RFC 1952, 8).

const crcPoly = 0xedb88320 // hash/crc32's IEEE polynomial, in the same bit order

// combineCRC gives the CRC-32 of bytes whose head has the CRC a, and whose other
// n bytes have the CRC b: a is moved up by n bytes, which is a product with x^8n.
func combineCRC(a, b uint32, n int64) uint32 { return multiplyCRC(a, shiftCRC(n)) ^ b }

// shiftCRC gives x^8n modulo the polynomial, by squaring.
func shiftCRC(n int64) uint32 {
	product, square := uint32(1<<31), uint32(1<<23) // x^0 and x^8
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			product = multiplyCRC(product, square)
		}
		square = multiplyCRC(square, square)
	}
	return product
}

// multiplyCRC gives a × b modulo the polynomial.
func multiplyCRC(a, b uint32) (product uint32) {
	for bit := uint32(1 << 31); bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		b = b>>1 ^ crcPoly*carry
	}
	return product
}
