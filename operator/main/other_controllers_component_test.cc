// Who else reconciles TFJobs, as an API server shows it.
#include "operator/main/other_controllers.h"

#include <gmock/gmock.h>

#include "absl/time/time.h"
#include "operator/k8s/leader_lease.h"
#include "operator/testing/api_fixture.h"

namespace tensorfleet::operator_main {
namespace {

using tensorfleet::testing::Fault;
using tensorfleet::testing::Json;
using ::testing::HasSubstr;

class OtherControllersTest : public tensorfleet::testing::ApiFixture {
 protected:
  void SetUp() override { FLEET_NEEDS_FAKE_SERVER(); }

  static Json Deployment(const std::vector<std::string>& args, int replicas = 1) {
    return {{"apiVersion", "apps/v1"},
            {"kind", "Deployment"},
            {"metadata",
             {{"name", "training-operator"},
              {"namespace", "kubeflow"},
              {"labels", {{"control-plane", "kubeflow-training-operator"}}}}},
            {"spec",
             {{"replicas", replicas},
              {"template",
               {{"spec",
                 {{"containers", Json::array({{{"name", "training-operator"}, {"args", args}},
                                              {{"name", "istio-proxy"}}})}}}}}}}};
  }
  void MakeDeployment(const Json& deployment) {
    MustCreate(k8s::CollectionPath("apps/v1", "kubeflow", "deployments"), deployment);
  }
  // Renewed `ago` before the clock's time.
  void MakeLease(const std::string& in, const std::string& name, absl::Duration ago,
                 const Json& labels = Json::object(), const std::string& scope = "") {
    const absl::Time renewed = absl::FromUnixNanos(clock_.NowUnixNanos()) - ago;
    MustCreate(
        k8s::CollectionPath("coordination.k8s.io/v1", in, "leases"),
        {{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata",
          {{"name", name}, {"labels", labels}, {"annotations", {{k8s::kLeaseScope, scope}}}}},
         {"spec",
          {{"holderIdentity", "somebody"},
           {"leaseDurationSeconds", 15},
           {"renewTime",
            absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", renewed, absl::UTCTimeZone())}}}});
  }
  OtherControllers Look(const std::string& jobs_of = "") {
    OtherControllersOptions options;
    options.ns = jobs_of;
    options.own_lease_namespace = "ours";
    options.own_lease_name = "lease";
    return OtherControllers(&client(), &clock_, options);
  }
  const Json kOurs = {{k8s::kLeaseLabel, k8s::kLeaseLabelValue}};
  ManualClock clock_{Clock::Real()->NowUnixNanos()};
};

TEST_F(OtherControllersTest, ThereIsNoneInAnEmptyCluster) { EXPECT_EQ(*Look().Find(), ""); }

TEST_F(OtherControllersTest, NamesTheDeploymentOfATrainingOperator) {
  MakeDeployment(Deployment({"--leader-elect"}));
  EXPECT_EQ(*Look().Find(), "deployment kubeflow/training-operator");
}

TEST_F(OtherControllersTest, ATrainingOperatorThatLeavesTFJobsAloneMayStayWithItsLease) {
  MakeDeployment(Deployment({"--enable-scheme=PyTorchJob", "-enable-scheme", "mpijob"}));
  MakeLease("kubeflow", kReferenceLease, absl::Seconds(1));
  EXPECT_EQ(*Look().Find(), "");
}

TEST_F(OtherControllersTest, AHolderOfTrainingOperatorsLeaseIsOneUntilItIsSilent) {
  MakeLease("kubeflow", kReferenceLease, absl::Seconds(1));
  auto others = Look();
  EXPECT_EQ(*others.Find(),
            absl::StrCat("the holder of lease kubeflow/", kReferenceLease, ", somebody"));
  clock_.Advance(std::chrono::seconds(14));
  EXPECT_NE(*others.Find(), "");
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(*others.Find(), "");
}

// It never releases its lease: one that it left behind long ago holds nobody up.
TEST_F(OtherControllersTest, ALeaseThatWasLeftBehindLongAgoCountsForNothing) {
  MakeLease("kubeflow", kReferenceLease, absl::Hours(1));
  EXPECT_EQ(*Look().Find(), "");
}

TEST_F(OtherControllersTest, AnotherReleaseOfOursIsOneWhereItsNamespacesAreOurs) {
  MakeLease("ours", "lease", absl::Seconds(1), kOurs);
  EXPECT_EQ(*Look().Find(), "") << "the lease that we compete for";
  MakeLease("team-a", "blue", absl::Seconds(1), kOurs, "team-a");
  EXPECT_THAT(*Look().Find(), HasSubstr("team-a/blue"));
  EXPECT_THAT(*Look("team-a").Find(), HasSubstr("team-a/blue"));
  EXPECT_EQ(*Look("team-b").Find(), "");
}

TEST_F(OtherControllersTest, SaysThatItMayNotLook) {
  Fault fault;
  fault.code = 403;
  fault.reason = "Forbidden";
  fault.path_contains = "/deployments";
  fake()->Inject(fault);
  EXPECT_TRUE(absl::IsPermissionDenied(Look().Find().status()));
}

TEST(ReconcilesTFJobsTest, GoesByReplicasSchemesAndNamespaces) {
  const auto with = [](const std::string& spec) { return Json::parse(R"({"spec":)" + spec + "}"); };
  const auto one = [&](const std::string& container) {
    return with(R"({"template":{"spec":{"containers":[)" + container + "]}}}");
  };
  EXPECT_TRUE(ReconcilesTFJobs(one(R"({"name":"manager"})"), ""));
  EXPECT_TRUE(ReconcilesTFJobs(one(R"({"args":["--enable-scheme=TFJob"]})"), ""));
  EXPECT_TRUE(
      ReconcilesTFJobs(one(R"({"args":["--enable-scheme=mpijob","--enable-scheme=tfjob"]})"), ""));
  EXPECT_FALSE(ReconcilesTFJobs(one(R"({"command":["/m","--enable-scheme","MPIJob"]})"), ""));
  EXPECT_FALSE(ReconcilesTFJobs(one(R"({"args":["--namespace=a"]})"), "b"));
  EXPECT_TRUE(ReconcilesTFJobs(one(R"({"args":["--namespace=a"]})"), ""));
  EXPECT_FALSE(
      ReconcilesTFJobs(one(R"({"env":[{"name":"KUBEFLOW_NAMESPACE","value":"a"}]})"), "b"));
  EXPECT_FALSE(
      ReconcilesTFJobs(with(R"({"replicas":0,"template":{"spec":{"containers":[{}]}}})"), ""));
  EXPECT_FALSE(ReconcilesTFJobs(Json(), ""));
}

}  // namespace
}  // namespace tensorfleet::operator_main
