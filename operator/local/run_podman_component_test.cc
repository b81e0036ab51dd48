// tensorfleet-run --podman.
#include "operator/local/run_fixture.h"

namespace tensorfleet::local {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Stands for podman: what runs is no child of this client, and is ended by a signal that the client
// passes on, or by `podman kill`.
constexpr char kPodman[] = R"sh(#!/bin/sh
echo "$@" >> $OUT/podman
verb=$1
shift
if [ "$verb" = kill ]; then exec kill -9 "$(cat "$OUT/container-$1")"; fi
while [ "${1#-}" != "$1" ]; do
  case $1 in
    --name) name=$2; shift ;;
    --env) export "$2"; shift ;;
    --entrypoint) entry=$(echo "$2" | tr -d '[]"' | tr , ' '); shift ;;
    --volume | --workdir) shift ;;
  esac
  shift
done
shift
setsid $entry "$@" &
echo $! > "$OUT/container-$name"
trap 'kill -TERM $!' TERM
wait $!
code=$?
if kill -0 $! 2>/dev/null; then wait $!; code=$?; fi
exit $code
)sh";

TEST_F(LocalRun, RunsImagesByPodmanWhenAsked) {
  WriteProgram("podman", kPodman);
  WriteJob({{"Worker", 2, "echo $TF_CONFIG; exit 0"}}, "  successPolicy: AllWorkers\n");
  EXPECT_EQ(Run({"--podman"}), 0) << Err() << Out();
  EXPECT_THAT(Log("worker-1"),
              AllOf(HasSubstr("127.0.0.1:"), HasSubstr(R"("task":{"type":"worker","index":1})")));
  const std::string calls = ReadAll(folder_ / "podman");
  EXPECT_THAT(calls, ContainsRegex("run --rm --replace --name j-worker-1-tensorflow-[0-9a-f]+ "
                                   "--network=host"));
  EXPECT_THAT(calls, HasSubstr(" x\n")) << "the image, and nothing after it: the job has no args";
  EXPECT_THAT(Err(), Not(HasSubstr("images are not used")));
}

TEST_F(LocalRun, TakesTheExitCodeOfPodmansContainer) {
  WriteProgram("podman", kPodman);
  WriteJob({{"Worker", 1, "echo run >> $OUT/runs; [ $(wc -l < $OUT/runs) -ge 2 ] || exit 137",
             "      restartPolicy: ExitCode\n"}});
  EXPECT_EQ(Run({"--podman"}), 0) << Err() << Out();
  EXPECT_EQ(ReadAll(folder_ / "runs"), "run\nrun\n");
}

TEST_F(LocalRun, KillsPodmansContainersThatDoNotEndInTheirGracePeriod) {
  WriteProgram("podman", kPodman);
  WriteJob({{"PS", 1, "trap '' TERM; echo up > $OUT/up; while true; do sleep 0.05; done"},
            {"Worker", 1, "while [ ! -e $OUT/up ]; do sleep 0.05; done"}});
  EXPECT_EQ(Run({"--podman"}), 0) << Err();
  ASSERT_TRUE(Eventually([&] {
    return ReadAll(folder_ / "podman").find("kill j-ps-0-tensorflow-") != std::string::npos;
  }));
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().find("container-j-ps-0") == std::string::npos) continue;
    const int container = std::stoi(ReadAll(entry.path()));
    EXPECT_TRUE(Eventually([&] { return !IsRunning(container); }));
  }
}

}  // namespace
}  // namespace tensorfleet::local
