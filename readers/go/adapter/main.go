// Adapter of the corpus in conformance/ for the package above.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"

	native "fullbloom-native"
)

type request struct {
	File, Ask, Type, Secret string
	Keys                    []string
}

func answer(r request) (answers []int, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	data, err := os.ReadFile(r.File)
	if err != nil {
		return nil, err
	}
	var secret []byte
	if r.Secret != "" {
		if secret, err = hex.DecodeString(r.Secret); err != nil {
			return nil, err
		}
	}
	filter, err := native.New(data, secret)
	if err != nil {
		return nil, err
	}
	for _, text := range r.Keys {
		key, err := hex.DecodeString(text)
		if err != nil {
			return nil, err
		}
		var found bool
		if r.Type == "int" || r.Type == "long" {
			found, err = filter.MayContainInt(int64(binary.LittleEndian.Uint64(key)))
		} else {
			found, err = filter.MayContain(key)
		}
		if err != nil {
			return nil, err
		}
		bit := 0
		if found {
			bit = 1
		}
		answers = append(answers, bit)
	}
	return answers, nil
}

// bench prints how many lookups a second a filter answers.
func bench(path string) error {
	filter, err := native.Open(path, nil)
	if err != nil {
		return err
	}
	keys := make([][]byte, 1_000_000)
	for i := range keys {
		keys[i] = []byte(fmt.Sprintf("key-%d", i))
	}
	start, count := time.Now(), 0
	for _, key := range keys {
		if found, _ := filter.MayContain(key); found {
			count++
		}
	}
	fmt.Printf("%.2f million lookups a second, %d found\n", 1/time.Since(start).Seconds(), count)
	return nil
}

func main() {
	if len(os.Args) > 1 {
		if err := bench(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(2)
		}
		return
	}
	out := json.NewEncoder(os.Stdout)
	out.Encode(map[string]any{"name": "readers/go", "version": "1", "systems": []string{"native"}})
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
		if r.Ask != "filter" {
			out.Encode(map[string]any{"skip": "reads filters alone"})
		} else if answers, err := answer(r); err != nil {
			out.Encode(map[string]any{"error": err.Error()})
		} else {
			if answers == nil {
				answers = []int{}
			}
			out.Encode(map[string]any{"answers": answers})
		}
	}
}
