import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct LocalExchangeTests {
    @Test func copiesAFileFromAnOffset() async throws {
        let bench = try Bench()
        let bytes = pattern(1_000_000)
        try bench.folder.write("source file", bytes)
        let url = "file://" + bench.folder.file("source%20file")
        let whole = try await bench.download(url)
        #expect(whole.end == .finished)
        #expect(whole.offset == 1_000_000)
        #expect(whole.head?.size == 1_000_000)
        #expect(whole.head?.modificationTime != nil)
        #expect(try bench.folder.read("part") == bytes)

        let part = try bench.part("rest")
        try bench.folder.write("rest", Array(bytes[..<400_000]))
        var status = stat()
        #expect(stat(bench.folder.file("rest"), &status) == 0)
        part.close()
        let checkpoint = Checkpoint(
            offset: 400_000, partPath: bench.folder.file("rest"), device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino))
        let (reopened, _) = try #require(try bench.recover(checkpoint))
        let outcome = await bench.perform(url, into: reopened, judge: .taking(offset: 400_000))
        #expect(outcome.end == .finished)
        #expect(outcome.received == 600_000)
        #expect(try bench.folder.read("rest") == bytes)
        await bench.engine.shutdown()
    }

    @Test(arguments: ["file:///no/such/file", "file:///dev/zero", "file:///", "file://host/x"])
    func refusesWhatIsNoRegularFile(url: String) async throws {
        let bench = try Bench()
        let outcome = try await bench.download(url)
        guard case .local(_, let operation) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(operation.contains("source"))
        await bench.engine.shutdown()
    }

    /// Their lengths are meaningless: 0 in /proc, one page in /sys.
    @Test(arguments: ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/notes"])
    func readsFilesThatTheKernelMakesToTheirEnd(path: String) async throws {
        // Not every kernel has all of these files.
        guard let content = KernelFile.read(path), !content.isEmpty else { return }
        let bench = try Bench()
        let outcome = try await bench.download("file://" + path)
        #expect(outcome.end == .finished)
        #expect(outcome.offset == ByteCount(Int64(content.count)))
        #expect(try bench.folder.read("part") == content)
        await bench.engine.shutdown()
    }

    /// The file is longer than one buffer.
    @Test func aLongFileOfTheKernelIsWhole() async throws {
        let bench = try Bench()
        let outcome = try await bench.download("file:///proc/kallsyms")
        #expect(outcome.end == .finished)
        #expect(outcome.head?.size == nil)
        // Symbols may appear and disappear in the meantime.
        if (KernelFile.read("/proc/kallsyms") ?? []).count > 2 << 20 { #expect(outcome.offset > ByteCount(1 << 20)) }
        await bench.engine.shutdown()
    }

    @Test func anEmptyFileHasALength() async throws {
        let bench = try Bench()
        try bench.folder.write("empty", [])
        let outcome = try await bench.download("file://" + bench.folder.file("empty"))
        #expect(outcome.end == .finished)
        #expect(outcome.offset == 0)
        #expect(outcome.head?.size == 0)
        await bench.engine.shutdown()
    }

    @Test func decodesADataURL() async throws {
        let bench = try Bench()
        let outcome = try await bench.download("data:text/plain;base64,aGVsbG8=")
        #expect(outcome.end == .finished)
        #expect(outcome.offset == 5)
        #expect(outcome.head?.values("content-type") == ["text/plain"])
        #expect(try bench.folder.read("part") == Array("hello".utf8))
        await bench.engine.shutdown()
    }
}

/// All bytes that reading the file gives, whatever its length says.
private enum KernelFile {
    static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count > 0 else { return count == 0 ? content : nil }
            content += buffer[..<count]
        }
    }
}
