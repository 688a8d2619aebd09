import TestSupport
import Testing

/// A run of the tests that leaves something behind fails, and says what it is.
@Suite struct LeftBehindTests {
    private func run(_ commands: String) async throws -> (status: Int32, output: String) {
        let script = "source '\(Checkout.root.path)/scripts/lib.sh'; make_work_folder; DLD_LEFT_PATIENCE=1; \(commands)"
        return try await Program.run(["bash", "-c", script + "; require_nothing_left"])
    }

    @Test func processesAndFoldersThatAreLeftAreNamed() async throws {
        let start = "cd $WORK; exec sleep 60 >/dev/null 2>&1"
        let inFolder = try await run("(\(start)) & at_end \"end_process $!\"")
        #expect(inFolder.status == 1 && inFolder.output.contains(": sleep 60"), "\(inFolder)")
        let withName = try await run("TMPDIR=$WORK sleep 61 >/dev/null 2>&1 & at_end \"end_process $!\"")
        #expect(withName.status == 1 && withName.output.contains(": sleep 61"), "\(withName)")
        let folder = try await run("mkdir $WORK/case-1")
        #expect(folder.status == 1 && folder.output.contains("/case-1"), "\(folder)")
    }

    @Test func nothingOfOtherRunsCounts() async throws {
        let mine = try TemporaryFolder()
        let other = try await run("mkdir $WORK/TemporaryDirectory.x; cd '\(mine.path)'")
        #expect(other.status == 0, "\(other)")
    }
}
