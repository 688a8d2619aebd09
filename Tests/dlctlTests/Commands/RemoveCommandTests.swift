import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct RemovalReportTests {
    private static let files = [
        RemovedFile(id: TaskID(1), fate: .deleted), RemovedFile(id: TaskID(2), fate: .absent),
        RemovedFile(id: TaskID(3), fate: .kept, reason: "/d/f stays: it was changed since the task delivered it."),
        RemovedFile(id: TaskID(4), fate: .deleted),
    ]

    private func text(_ files: [RemovedFile], byID: Bool) -> [String] {
        RemoveCommand.lines(files, byID: byID).map { Style.plain.render($0) }
    }

    /// If the user names tasks, each deleted file is reported. If the user selects many, their number is reported.
    @Test func onlyWhatWasDeletedIsCalledDeleted() {
        #expect(text(Self.files, byID: true) == ["deleted the file of 1", "deleted the file of 4"])
        #expect(text(Self.files, byID: false) == ["deleted 2 files"])
        #expect(text([Self.files[1]], byID: true) == [])
        #expect(text([Self.files[1]], byID: false) == ["deleted 0 files"])
        #expect(text([], byID: false) == [])
    }
}

@Suite(.serialized, .enabled(if: Program.path != nil, "the dlctl product is built")) struct RemoveCommandTests {
    private func bench() async throws -> Bench {
        let bench = try await Bench()
        for id in Int64(1)...4 {
            bench.daemon.put(
                TaskRecord(
                    id: TaskID(id), session: .shared(of: UserID(0)), spec: TaskSpec(),
                    status: TaskStatus(state: id == 4 ? .running : .completed, createdAt: .now()), host: "",
                    position: Double(id)))
        }
        bench.daemon.answer(
            RemovedFile(id: TaskID(1), fate: .deleted), RemovedFile(id: TaskID(2), fate: .absent),
            RemovedFile(id: TaskID(3), fate: .kept, reason: "/d/f stays: it was changed.\u{1B}"))
        return bench
    }

    @Test func eachFileThatStaysIsNamedWithItsReason() async throws {
        let bench = try await bench()
        let outcome = try await bench.run("remove", "--delete", "1", "2", "3")
        #expect(outcome.status == ExitStatus.refused.rawValue)
        #expect(outcome.lines == ["removed 1", "removed 2", "removed 3", "deleted the file of 1"])
        #expect(outcome.error == "dlctl: 3: /d/f stays: it was changed.\u{FFFD}\n")
        await bench.daemon.stop()
    }

    /// A refused task does not hide what happened to the files of the others.
    @Test func aRefusalHidesNoFile() async throws {
        let bench = try await bench()
        let outcome = try await bench.run("remove", "--delete", "1", "4", "3")
        #expect(outcome.status == ExitStatus.refused.rawValue)
        #expect(outcome.lines == ["removed 1", "removed 3", "deleted the file of 1"])
        #expect(outcome.error.hasPrefix("dlctl: 4: refused (task.wrong_state): "))
        #expect(outcome.error.hasSuffix("dlctl: 3: /d/f stays: it was changed.\u{FFFD}\n"))
        await bench.daemon.stop()
    }

    @Test func withoutDeleteNothingIsSaidOfFiles() async throws {
        let bench = try await bench()
        let outcome = try await bench.run("remove", "1", "3")
        #expect(outcome.status == 0)
        #expect(outcome.lines == ["removed 1", "removed 3"])
        #expect(outcome.error.isEmpty)
        await bench.daemon.stop()
    }

    @Test func filesThatAreGoneAreNoFailure() async throws {
        let bench = try await bench()
        let outcome = try await bench.run("remove", "--delete", "1", "2")
        #expect(outcome.status == 0)
        #expect(outcome.error.isEmpty)
        await bench.daemon.stop()
    }

    /// The JSON value contains everything, and the exit status says that some files remain.
    @Test func programsReadItAsOneValue() async throws {
        let bench = try await bench()
        let outcome = try await bench.run("remove", "--delete", "--json", "1", "3")
        #expect(outcome.status == ExitStatus.refused.rawValue)
        #expect(outcome.lines.count == 1)
        let files = try #require(JSONText.value(outcome.output)?["files"]?.arrayValue)
        #expect(files.map { $0["fate"] } == ["deleted", "kept"])
        #expect(outcome.error.isEmpty)
        await bench.daemon.stop()
    }

    /// -q hides only the messages about success.
    @Test func whoWantsNoWordsHearsOfWhatStays() async throws {
        let bench = try await bench()
        let outcome = try await bench.run("remove", "--delete", "-q", "1", "3")
        #expect(outcome.status == ExitStatus.refused.rawValue)
        #expect(outcome.output.isEmpty)
        #expect(outcome.error.hasPrefix("dlctl: 3: "))
        await bench.daemon.stop()
    }
}
