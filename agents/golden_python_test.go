package agents_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	pythonClass = regexp.MustCompile(`^<class '(?:[\w.]*\.)?(\w+)'>$`)
	pythonItem  = regexp.MustCompile(`'(\w+)': ([-+0-9.eE]+)\s*[,}]`)
)

// pythonConfig reads the configuration, in which classes and dictionaries are as Python prints them.
func pythonConfig(d map[string]any) (map[string]any, error) {
	out := map[string]any{"compatibility": "skrl-2.0"}
	for k, v := range d {
		switch v := v.(type) {
		case nil:
		case string:
			switch class := pythonClass.FindStringSubmatch(v); {
			case class != nil:
				out[k] = class[1]
			case strings.HasSuffix(k, "_kwargs") && strings.HasPrefix(v, "{"):
				kwargs := map[string]any{}
				for _, item := range pythonItem.FindAllStringSubmatch(v, -1) {
					x, err := strconv.ParseFloat(item[2], 64)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", k, err)
					}
					if item[1] != "size" && item[1] != "device" { // a scaler's size is its rows'
						kwargs[item[1]] = x
					}
				}
				out[k] = kwargs
			default:
				return nil, fmt.Errorf("%s: %q is neither a class nor keyword arguments", k, v)
			}
		default:
			out[k] = whole(v)
		}
	}
	return out, nil
}
