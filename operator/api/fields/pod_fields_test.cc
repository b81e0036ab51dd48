#include "operator/api/fields/pod_fields.h"

#include <gmock/gmock.h>

#include "operator/api/fields/json_fields.h"

namespace tensorfleet::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

UnknownFields Of(const std::string& pod_template) {
  return FindUnknownFields(
      Json::parse(R"({"spec":{"tfReplicaSpecs":{"Worker":{"template":)" + pod_template + "}}}}"));
}

std::vector<std::string> Texts(const std::vector<FieldError>& errors) {
  std::vector<std::string> texts;
  for (const FieldError& error : errors) texts.push_back(error.ToString());
  return texts;
}

TEST(PodFields, OfAWellWrittenTemplateAreAllKnown) {
  const UnknownFields found = Of(R"({"metadata":{"labels":{"any.thing/x":"y"}},"spec":{
      "nodeSelector":{"gpu":"a"},"containers":[{"name":"tensorflow","image":"i",
      "env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"x"}}}],
      "resources":{"limits":{"example.com/gpu":1}},"readinessProbe":{"httpGet":{"path":"/"}},
      "volumeMounts":[{"name":"v","mountPath":"/v","subPath":"s"}]}],
      "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}],
      "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}}}})");
  EXPECT_THAT(found.mistakes, IsEmpty());
  EXPECT_THAT(found.doubtful, IsEmpty());
}

TEST(PodFields, MisspeltOnesAreNamedWithTheirPathAndWhatWasMeant) {
  const std::string at = "spec.tfReplicaSpecs[Worker].template.";
  EXPECT_THAT(Texts(Of(R"({"spec":{"contianers":[]}})").mistakes),
              ElementsAre(at + "spec.contianers: unknown field; did you mean \"containers\"?"));
  EXPECT_THAT(Texts(Of(R"({"spec":{"containers":[{},{"imagePullpolicy":"Always"}]}})").mistakes),
              ElementsAre(at + "spec.containers[1].imagePullpolicy: unknown field; did you mean "
                               "\"imagePullPolicy\"?"));
  EXPECT_THAT(
      Texts(Of(R"({"spec":{"volumes":[{"name":"v","emptydir":{}}]}})").mistakes),
      ElementsAre(at + "spec.volumes[0].emptydir: unknown field; did you mean \"emptyDir\"?"));
  EXPECT_THAT(Texts(Of(R"({"spec":{"containers":[{"resources":{"limit":{}}}]}})").mistakes),
              ElementsAre(at + "spec.containers[0].resources.limit: unknown field; did you mean "
                               "\"limits\"?"));
}

TEST(PodFields, InTheWrongPlaceAreToldWhereTheyBelong) {
  EXPECT_THAT(Texts(Of(R"({"spec":{"containers":[{"nodeSelector":{}}]}})").mistakes),
              ElementsAre("spec.tfReplicaSpecs[Worker].template.spec.containers[0].nodeSelector: "
                          "unknown field; it belongs to the pod's spec"));
}

// A newer Kubernetes may know it: its API server gets the pods, and is asked to be strict.
TEST(PodFields, ThatResembleNothingAreOnlyDoubtful) {
  const UnknownFields found = Of(R"({"spec":{"quantumEntanglement":true}})");
  EXPECT_THAT(found.mistakes, IsEmpty());
  EXPECT_THAT(Texts(found.doubtful),
              ElementsAre("spec.tfReplicaSpecs[Worker].template.spec.quantumEntanglement: "
                          "unknown field"));
}

TEST(PodFields, OfNonsenseDoNoHarm) {
  for (const char* text : {"[]", "null", "3", R"({"spec":[[[{"a":{}}]]]})", R"({"metadata":4})",
                           R"({"spec":{"containers":{"x":[null]}}})"}) {
    (void)Of(text);
  }
  EXPECT_THAT(FindUnknownFields(Json()).mistakes, IsEmpty());
}

}  // namespace
}  // namespace tensorfleet::api
