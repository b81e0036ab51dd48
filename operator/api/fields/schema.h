// The TFJob resource as the API server is told of it, made of the fields that are read and written
// here (see field_facts.h).
#pragma once

#include <string>

#include "operator/api/fields/schema_writer.h"

namespace tensorfleet::api {

// Of `spec` and `status` as OpenAPI schemas.
OrderedJson SpecSchema();
OrderedJson StatusSchema();

// The CustomResourceDefinition that deploy/crd/tfjob.yaml holds, as YAML.
std::string CrdYaml();

}  // namespace tensorfleet::api
