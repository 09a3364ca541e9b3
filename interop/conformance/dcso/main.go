// Adapter of DCSO's bloom: LoadFilter and Check.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/DCSO/bloom"
)

type request struct {
	File string   `json:"file"`
	Ask  string   `json:"ask"`
	Keys []string `json:"keys"`
}

func answer(r request) (reply map[string]any) {
	defer func() {
		if reason := recover(); reason != nil {
			reply = map[string]any{"error": fmt.Sprint("panic: ", reason)}
		}
	}()
	if r.Ask != "filter" {
		return map[string]any{"skip": "not offered by this library"}
	}
	filter, err := bloom.LoadFilter(r.File, false)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	answers := make([]int, len(r.Keys))
	for i, text := range r.Keys {
		key, err := hex.DecodeString(text)
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		if filter.Check(key) {
			answers[i] = 1
		}
	}
	return map[string]any{"answers": answers}
}

func main() {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/DCSO/bloom" {
				version = module.Version
			}
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.Encode(map[string]any{"name": "DCSO bloom", "version": version, "systems": []string{"dcso"}})
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		out.Encode(answer(r))
	}
}
