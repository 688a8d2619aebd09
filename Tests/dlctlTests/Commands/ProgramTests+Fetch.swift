import Foundation
import Testing
import TransferModel

@testable import dlctl

extension ProgramTests {
    /// Runs a fetch with its request, which is answered with `body`.
    func fetched(_ bench: Bench, _ body: [UInt8], _ arguments: String...) async throws -> Program.Outcome {
        let fetching = try Program(["fetch"] + arguments, environment: bench.environment, folder: bench.folder)
        try await follow(bench)
        bench.daemon.keep(body, of: TaskID(1))
        try bench.daemon.happen(.taskCompleted, TaskID(1)) { $0.status.state = .completed }
        return await fetching.finish()
    }

    @Test func fetchPrintsTheWholeBody() async throws {
        let bench = try await Bench()
        let body = (0..<(3 << 20)).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        let outcome = try await fetched(bench, body, "-d", "x", "https://a/1")
        #expect(outcome.status == 0 && outcome.error.isEmpty)
        #expect(outcome.output == String(decoding: body, as: UTF8.self))
        let spec = try #require(bench.daemon.specs.first)
        #expect(spec.kind == .data && spec.method == "POST" && spec.body?.text == "x")
        // The user waits, so the limit is not a week.
        #expect(spec.timeoutIntervalForResource == 600)
        let again = try await bench.run("fetch", "1")
        #expect(again.status == 0 && again.output == outcome.output)
        await bench.daemon.stop()
    }

    @Test func fetchWritesAFile() async throws {
        let bench = try await Bench()
        let outcome = try await fetched(bench, [0, 1, 2, 255], "-o", "answer", "--max-time", "5s", "https://a/1")
        #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome)")
        #expect(try Data(contentsOf: URL(filePath: bench.folder + "/answer")) == Data([0, 1, 2, 255]))
        #expect(bench.daemon.specs.first?.timeoutIntervalForResource == 5)
        let nowhere = try await bench.run("fetch", "1", "-o", "no/such/folder")
        #expect(nowhere.status == 1 && nowhere.error.contains("cannot be written"))
        #expect(nowhere.error.hasSuffix("the answer is kept: dlctl fetch 1 -o FILE\n"), "\(nowhere.error)")
        let null = try await bench.run("fetch", "1", "-o", "/dev/null")
        #expect(null.status == 0)
        #expect(
            try FileManager.default.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType != .typeRegular)
        await bench.daemon.stop()
    }

    @Test func fetchDoesNotCopyADownload() async throws {
        let bench = try await Bench()
        bench.daemon.put(Sample.record(7, .completed))
        let outcome = try await bench.run("fetch", "7", "-o", "copy")
        #expect(outcome.status == 1 && outcome.error.contains("task 7 is a download"), "\(outcome)")
        #expect(try await bench.run("fetch", "7").status == 0)
        await bench.daemon.stop()
    }

    /// A POST that is sent and then has no answer to show would be repeated.
    @Test(arguments: ["no/such/file", "."])
    func fetchSendsNothingIfItsAnswerCannotBeWritten(output: String) async throws {
        let bench = try await Bench()
        let outcome = try await bench.run("fetch", "-o", output, "-d", "x", "https://a/1")
        #expect(outcome.status == 1 && outcome.error.contains("cannot be written: "), "\(outcome)")
        #expect(bench.daemon.specs.isEmpty)
        await bench.daemon.stop()
    }

    @Test func fetchSendsStandardInput() async throws {
        let bench = try await Bench()
        let fetching = try bench.start("fetch", "-d", "@-", "https://a/1", input: "what is it?")
        try await follow(bench)
        #expect(bench.daemon.specs.first?.body?.text == "what is it?")
        fetching.interrupt()
        _ = await fetching.finish()
        await bench.daemon.stop()
    }

    @Test func fetchSaysWhatItWaitsForAndCtrlCRemovesIt() async throws {
        let bench = try await Bench()
        let fetching = try bench.start("fetch", "https://a/1")
        try await follow(bench)
        let cause: JSONValue = ["code": "network.connect", "message": "Nobody answers."]
        try bench.daemon.happen(.taskWaiting, TaskID(1), ["reason": "retry", "error": cause])
        #expect(await fetching.waitForError("network.connect: Nobody answers. Ctrl-C cancels the request."))
        fetching.interrupt()
        let outcome = await fetching.finish()
        #expect(outcome.status == 130 && outcome.output.isEmpty)
        #expect(outcome.error.hasSuffix("interrupted; the request is cancelled\n"))
        #expect(bench.daemon.specs.isEmpty)
        await bench.daemon.stop()
    }
}
