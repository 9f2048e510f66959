package config_test

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/config"
)

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"http://me:word@host:5000/a?b=c":                 `http://me:***@host:5000/a?b=c`,
		"http://me:w@r:d@host":                           `http://me:***@host`,
		"http://me:wo/rd@host":                           `http://me:***@host`,
		`{"a":"http://me:word@host","b":"http://x:y@h"}`: `{"a":"http://me:***@host","b":"http://x:***@h"}`,
		"uri: 'http://me:it''s@host', mail: a@b":         `uri: 'http://me:***@host', mail: a@b`,
		"http://host:5000":                               "http://host:5000",
		"http://host:5000/a@b":                           "http://host:5000/a@b",
	} {
		if got := config.Redact(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}
