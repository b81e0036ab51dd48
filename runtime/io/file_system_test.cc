#include "runtime/io/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/testing/faulty_file_system.h"
#include "runtime/io/testing/scratch_dir.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileSystemTest : public ::testing::Test {
 protected:
  FileSystem& files_ = *FileSystem::Local();
  ScratchDir dir_;
};

TEST_F(FileSystemTest, ReadsBackWhatWasWritten) {
  const std::string big(200'000, 'x');
  auto file = files_.Create(dir_.Path("a"));
  ASSERT_EQ(file.status(), OkStatus());
  for (absl::string_view part :
       {absl::string_view("small"), absl::string_view(big), absl::string_view("end")}) {
    ASSERT_EQ((*file)->Append(part), OkStatus());
  }
  ASSERT_EQ((*file)->Close(), OkStatus());
  ASSERT_EQ((*file)->Close(), OkStatus());
  EXPECT_EQ(ReadWholeFile(files_, dir_.Path("a")).value(), "small" + big + "end");
}

TEST_F(FileSystemTest, AMissingFileIsNamed) {
  const Status status = files_.Open(dir_.Path("no")).status();
  EXPECT_EQ(status, NotFound(dir_.Path("no"), "; No such file or directory"));
}

TEST_F(FileSystemTest, ReadingPastTheEndIsAnError) {
  ASSERT_EQ(WriteWholeFile(files_, dir_.Path("a"), "abc"), OkStatus());
  auto file = files_.Open(dir_.Path("a"));
  char bytes[8];
  EXPECT_EQ((*file)->Read(1, 2, bytes), OkStatus());
  EXPECT_EQ((*file)->Read(1, 3, bytes).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FileSystemTest, ADirectoryIsNoFile) {
  EXPECT_EQ(files_.Open(dir_.path()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(FileSystemTest, MakesDirectoriesWithAllThatLeadToThem) {
  ASSERT_EQ(files_.CreateDirs(dir_.Path("a/b/c")), OkStatus());
  ASSERT_EQ(files_.CreateDirs(dir_.Path("a/b/c")), OkStatus());
  EXPECT_TRUE(files_.IsDirectory(dir_.Path("a/b/c")).value());
  ASSERT_EQ(WriteWholeFile(files_, dir_.Path("f"), ""), OkStatus());
  EXPECT_FALSE(files_.CreateDirs(dir_.Path("f/g")).ok());
}

TEST_F(FileSystemTest, GlobMatchesWithinOneName) {
  for (const char* name : {"m.index", "mfs.index", "msl.index", ".hidden.index", "m.data"}) {
    ASSERT_EQ(WriteWholeFile(files_, dir_.Path(name), ""), OkStatus());
  }
  ASSERT_EQ(files_.CreateDirs(dir_.Path("sub")), OkStatus());
  ASSERT_EQ(WriteWholeFile(files_, dir_.Path("sub/m.index"), ""), OkStatus());
  EXPECT_THAT(Glob(files_, dir_.Path("*.index")).value(),
              ElementsAre(dir_.Path("m.index"), dir_.Path("mfs.index"), dir_.Path("msl.index")));
  EXPECT_THAT(Glob(files_, dir_.Path("m[sf]?.index")).value(),
              ElementsAre(dir_.Path("mfs.index"), dir_.Path("msl.index")));
  EXPECT_THAT(Glob(files_, dir_.Path("s*/m.index")).value(), ElementsAre(dir_.Path("sub/m.index")));
  EXPECT_THAT(Glob(files_, dir_.Path("none/*")).value(), IsEmpty());
}

TEST_F(FileSystemTest, AFailedWholeWriteLeavesTheOldContents) {
  ASSERT_EQ(WriteWholeFile(files_, dir_.Path("a"), "old"), OkStatus());
  FaultyFileSystem faulty;
  for (const char* operation : {"append", "sync", "rename"}) {
    faulty.set_fault([&](absl::string_view asked, const std::string& path) {
      return asked == operation ? ResourceExhausted(path, "; No space left on device") : OkStatus();
    });
    EXPECT_EQ(WriteWholeFile(faulty, dir_.Path("a"), "new").code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(ReadWholeFile(files_, dir_.Path("a")).value(), "old");
    EXPECT_EQ(files_.List(dir_.path())->size(), 1u)
        << "temporary files are left after " << operation;
  }
}

TEST(ResolvePath, KnowsTheLocalFileSystemOnly) {
  EXPECT_EQ(ResolvePath("/a/b")->path, "/a/b");
  EXPECT_EQ(ResolvePath("file:///a/b")->path, "/a/b");
  EXPECT_EQ(ResolvePath("s9://x/y").status(),
            Unimplemented("File system scheme 's9' not implemented (file: 's9://x/y')"));
  EXPECT_THAT(std::string(ResolvePath(absl::string_view("a\0b", 3)).status().message()),
              HasSubstr("zero byte"));
}

TEST(DirectoryOf, CutsTheLastName) {
  EXPECT_EQ(DirectoryOf("a/b"), "a");
  EXPECT_EQ(DirectoryOf("/b"), "/");
  EXPECT_EQ(DirectoryOf("b"), "");
}

}  // namespace
}  // namespace tensorfleet
