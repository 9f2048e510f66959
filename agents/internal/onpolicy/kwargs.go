package onpolicy

import (
	"fmt"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/preprocessors"
)

// CheckKwargs refuses kwargs if value, the setting that they belong to, is empty, because nothing would read them.
func CheckKwargs(prefix, key, value string, kwargs map[string]any) error {
	if value != "" || len(kwargs) == 0 {
		return nil
	}
	return fmt.Errorf("%s: \"%s_kwargs\" is %v, but \"%s\" is not set, so that nothing reads them; "+
		"set \"%s\", or leave out the kwargs",
		prefix, key, kwargs, key, key)
}

// ScalerConfig reads a preprocessor's kwargs. "size" and "device", which skrl needs, may be left out: ScalerConfig
// checks size and ignores device.
func ScalerConfig(prefix string, kwargs map[string]any, size int, unbiased bool) (preprocessors.ScalerConfig, error) {
	cfg := preprocessors.DefaultScalerConfig()
	cfg.Unbiased = unbiased
	err := MergeScalerConfig(prefix, kwargs, size, &cfg)
	return cfg, err
}

// MergeScalerConfig merges a preprocessor's kwargs over cfg, a pointer to the settings of its kind, as
// [ScalerConfig] does.
func MergeScalerConfig[T any](prefix string, kwargs map[string]any, size int, cfg *T) error {
	own := map[string]any{}
	for k, v := range kwargs {
		switch k {
		case "device":
		case "size":
			if n, ok := config.Whole(v); ok && n != size {
				return fmt.Errorf("%s.size is %d, but the rows have %d values", prefix, n, size)
			}
		default:
			own[k] = v
		}
	}
	if err := config.Merge(cfg, own, config.Options{Prefix: prefix}); err != nil {
		return err
	}
	return config.Check(*cfg, prefix)
}
