package coupon

import (
	"fmt"
	"maps"
	"slices"

	"rowmill/internal/table"
)

// currencies are those that prices come in, with their decimals (ISO 4217, table
// A.1). None of three decimals is among them: amounts of reservations have two.
var currencies = map[string]uint8{
	"AUD": 2, "BRL": 2, "CAD": 2, "CHF": 2, "CNY": 2, "CZK": 2, "DKK": 2, "EUR": 2, "GBP": 2, "HKD": 2, "HUF": 2, "IDR": 2, "INR": 2, "JPY": 0, "KRW": 0,
	"MXN": 2, "MYR": 2, "NOK": 2, "NZD": 2, "PHP": 2, "PLN": 2, "SEK": 2, "SGD": 2, "THB": 2, "TRY": 2, "TWD": 2, "USD": 2, "VND": 0, "ZAR": 2,
}

// Currencies gives the codes of the currencies that are known, in order.
func Currencies() []string { return slices.Sorted(maps.Keys(currencies)) }

// Known reports whether prices may be in the currency.
func Known(currency string) bool {
	_, ok := currencies[currency]
	return ok
}

// ParseMinor reads a price of a known currency as a decimal number, exactly, into minor
// units; detail says what is wrong with it.
func ParseMinor(s, currency string) (minor int64, detail string) {
	decimals := currencies[currency]
	v, ok := table.ParseDecimal(s)
	if !ok {
		return 0, "is not a decimal number like 120.00"
	}
	n, scale, small := v.Decimal()
	switch {
	case small && n < 0:
		return 0, "is below 0"
	case !small || n > MaxMinor:
		return 0, "is too large"
	case scale > decimals:
		return 0, fmt.Sprintf("has more than the %d decimals of %s", decimals, currency)
	}
	for ; scale < decimals; scale++ {
		if n *= 10; n > MaxMinor { // n was at most 10¹⁴: it cannot overflow
			return 0, "is too large"
		}
	}
	return n, ""
}

// AppendMinor writes minor units of a known currency as a decimal number.
func AppendMinor(b []byte, minor int64, currency string) []byte {
	return table.DecimalOf(minor, currencies[currency]).AppendDecimal(b)
}

// hundredthsDecimals is how the amounts of reservations are kept, whatever the currency.
const hundredthsDecimals = 2

// ofHundredths gives an amount in minor units of its currency; false if it has none, as
// half a yen, or is no price.
func ofHundredths(n int64, currency string) (int64, bool) {
	decimals, known := currencies[currency]
	if !known || n < 0 || n > MaxMinor {
		return 0, false
	}
	for range hundredthsDecimals - decimals {
		if n%10 != 0 {
			return 0, false
		}
		n /= 10
	}
	return n, true
}

// hundredthsOf is ofHundredths the other way.
func hundredthsOf(minor int64, currency string) int64 {
	for range hundredthsDecimals - currencies[currency] {
		minor *= 10
	}
	return minor
}
