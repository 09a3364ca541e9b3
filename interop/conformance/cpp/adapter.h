// Shared by the adapters in C++: reads requests of the runner and prints answers. The reader of JSON knows just what the
// runner sends: one object with texts, numbers, and a list of hex keys.

#pragma once

#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace conformance {

class Request {
 public:
  explicit Request(std::string line) : line_(std::move(line)) {}

  // A text or a number; empty if there is none.
  std::string Text(const std::string& field) const {
    const size_t at = Find(field);
    if (at == std::string::npos) return "";
    if (line_[at] == '"') return line_.substr(at + 1, line_.find('"', at + 1) - at - 1);
    return line_.substr(at, line_.find_first_of(",}", at) - at);
  }

  long Number(const std::string& field) const { return std::strtol(Text(field).c_str(), nullptr, 10); }

  std::vector<std::string> Keys() const { return Hex("keys"); }

  // The texts in hex of a list, or one text; empty if there is none.
  std::vector<std::string> Hex(const std::string& field) const {
    std::vector<std::string> keys;
    size_t at = Find(field);
    if (at == std::string::npos) return keys;
    const size_t end = line_.find_first_of(line_[at] == '[' ? "]" : ",}", at);
    while ((at = line_.find('"', at)) < end) {
      const size_t close = line_.find('"', at + 1);
      std::string key;
      for (size_t i = at + 1; i < close; i += 2) key += static_cast<char>(std::stoi(line_.substr(i, 2), nullptr, 16));
      keys.push_back(key);
      at = close + 1;
    }
    return keys;
  }

  std::string Bytes() const {
    std::ifstream file(Text("file"), std::ios::binary);
    if (!file) throw std::runtime_error("cannot open " + Text("file"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  size_t Find(const std::string& field) const {
    const size_t at = line_.find("\"" + field + "\": ");
    return at == std::string::npos ? at : at + field.size() + 4;
  }

  std::string line_;
};

using Answers = std::optional<std::vector<int>>;

// Asks one filter about every key of the request.
inline Answers LookUp(const Request& request, const std::function<bool(const std::string&)>& may_contain) {
  std::vector<int> answers;
  for (const std::string& key : request.Keys()) answers.push_back(may_contain(key));
  return answers;
}

// Serves requests until standard input ends. `answer` returns nothing for what the library does not offer.
inline int Run(const std::string& name, const std::string& version, const std::string& systems,
               const std::function<Answers(const Request&)>& answer) {
  std::cout << "{\"name\": \"" << name << "\", \"version\": \"" << version << "\", \"systems\": [" << systems << "]}" << std::endl;
  const auto error = [](std::string what) {
    for (char& c : what)
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '\'';
    std::cout << "{\"error\": \"" << what << "\"}" << std::endl;
  };
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const Answers answers = answer(Request(line));
      if (!answers) {
        std::cout << "{\"skip\": \"not offered by this library\"}" << std::endl;
        continue;
      }
      std::cout << "{\"answers\": [";
      for (size_t i = 0; i < answers->size(); i++) std::cout << (i ? ", " : "") << (*answers)[i];
      std::cout << "]}" << std::endl;
    } catch (const std::bad_alloc&) {
      error("std::bad_alloc");
    } catch (const std::exception& e) {
      error(e.what());
    }
  }
  return 0;
}

}  // namespace conformance
