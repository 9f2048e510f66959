package config

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

func setDuration(dst reflect.Value, value any) bool {
	switch v := value.(type) {
	case time.Duration:
		dst.SetInt(int64(v))
	case string:
		d, err := time.ParseDuration(v)
		if err != nil {
			return false
		}
		dst.SetInt(int64(d))
	default:
		return false
	}
	return true
}

func setBool(dst, v reflect.Value) bool {
	if v.Kind() == reflect.Bool {
		dst.SetBool(v.Bool())
		return true
	}
	if v.Kind() != reflect.String {
		return false
	}
	switch strings.ToLower(v.String()) {
	case "yes", "on":
		dst.SetBool(true)
	case "no", "off":
		dst.SetBool(false)
	default:
		return false
	}
	return true
}

// setNumber stores an integer or a float where nothing of it is lost but a float's last digits.
func setNumber(dst, v reflect.Value) bool {
	if v.Kind() == reflect.String {
		f, ok := exponentForm(v.String())
		if !ok {
			return false
		}
		v = reflect.ValueOf(f)
	}
	switch {
	case dst.CanFloat():
		return setFloat(dst, v)
	case v.CanFloat():
		f := v.Float()
		// 1<<63 itself does not fit; every whole float below it does.
		if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
			return false
		}
		v = reflect.ValueOf(int64(f))
	}
	switch {
	case v.CanInt() && dst.CanInt():
		if dst.OverflowInt(v.Int()) {
			return false
		}
		dst.SetInt(v.Int())
	case v.CanInt() && dst.CanUint():
		if v.Int() < 0 || dst.OverflowUint(uint64(v.Int())) {
			return false
		}
		dst.SetUint(uint64(v.Int()))
	case v.CanUint() && dst.CanUint():
		if dst.OverflowUint(v.Uint()) {
			return false
		}
		dst.SetUint(v.Uint())
	case v.CanUint() && dst.CanInt():
		if v.Uint() > math.MaxInt64 || dst.OverflowInt(int64(v.Uint())) {
			return false
		}
		dst.SetInt(int64(v.Uint()))
	default:
		return false
	}
	return true
}

func setFloat(dst, v reflect.Value) bool {
	var f float64
	switch {
	case v.CanFloat():
		f = v.Float()
	case v.CanInt():
		f = float64(v.Int())
	case v.CanUint():
		f = float64(v.Uint())
	default:
		return false
	}
	if !math.IsInf(f, 0) && dst.OverflowFloat(f) {
		return false
	}
	dst.SetFloat(f)
	return true
}

// exponentForm reads the numbers that YAML 1.1 leaves as strings: those with an exponent, and infinities by their
// common names.
func exponentForm(s string) (float64, bool) {
	switch strings.ToLower(s) {
	case "inf", "+inf", "-inf":
	default:
		if !strings.ContainsAny(s, "eE") || strings.ContainsAny(s, "xXpPnN_") {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
