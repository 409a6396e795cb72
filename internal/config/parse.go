package config

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// Errors collects what cannot be read while flags and variables are parsed, so
// that all of it is told at once with what Check finds.
type Errors struct{ list problems }

// Options makes kong note a wrong number or duration here instead of stopping at the first.
func (e *Errors) Options() []kong.Option {
	number := e.collect("a whole number", func(s string, target reflect.Value) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err == nil {
			target.SetInt(n)
		}
		return err
	})
	duration := e.collect("a duration like 90s or 2h", func(s string, target reflect.Value) error {
		d, err := time.ParseDuration(s)
		if err == nil {
			target.SetInt(int64(d))
		}
		return err
	})
	return []kong.Option{
		kong.KindMapper(reflect.Int, number), kong.KindMapper(reflect.Int64, number),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), duration),
	}
}

func (e *Errors) collect(what string, parse func(string, reflect.Value) error) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var s string
		if err := ctx.Scan.PopValueInto("value", &s); err != nil {
			return err
		}
		if parse(s, target) != nil {
			e.list.add(ctx.Value.Name, "%q is not %s", s, what)
		}
		return nil
	}
}

// Join gives everything that was noted and what Check found, each flag once:
// a value that could not be read is not also out of bounds.
func (e *Errors) Join(found error) error {
	all := e.list.errors()
	if joined, ok := found.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			p, named := errors.AsType[problem](err)
			if !named || !slices.ContainsFunc(e.list, func(noted problem) bool { return noted.flag == p.flag }) {
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}

// Defaults gives the configuration of a process that sets nothing, whatever the
// environment holds.
func Defaults() (*Config, error) {
	var c Config
	parser, err := kong.New(&c)
	if err != nil {
		return nil, err
	}
	for _, f := range parser.Model.Flags {
		f.Tag.Envs = nil
	}
	_, err = parser.Parse(nil)
	return &c, err
}
