#include "operator/api/fields/field_error.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorfleet::api {

FieldError Required(absl::string_view path, absl::string_view why) {
  return {std::string(path), absl::StrCat("Required value: ", why)};
}

FieldError Invalid(absl::string_view path, absl::string_view value_as_json, absl::string_view why) {
  return {std::string(path), absl::StrCat("Invalid value: ", value_as_json, ": ", why)};
}

FieldError Forbidden(absl::string_view path, absl::string_view why) {
  return {std::string(path), absl::StrCat("Forbidden: ", why)};
}

FieldError Unsupported(absl::string_view path, absl::string_view value,
                       const std::vector<std::string>& supported) {
  const auto quote = [](std::string* out, const std::string& word) {
    absl::StrAppend(out, "\"", word, "\"");
  };
  return {std::string(path), absl::StrCat("Unsupported value: \"", value, "\": supported values: ",
                                          absl::StrJoin(supported, ", ", quote))};
}

std::string JoinErrors(const std::vector<FieldError>& errors) {
  if (errors.size() == 1) return errors[0].ToString();
  const auto text = [](std::string* out, const FieldError& error) { *out += error.ToString(); };
  return absl::StrCat("[", absl::StrJoin(errors, ", ", text), "]");
}

}  // namespace tensorfleet::api
