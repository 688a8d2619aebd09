import Foundation
import TestSupport
import Testing
import TransferModel

@testable import CurlEngine

@Suite struct UploadSourceTests {
    @Test func remembersWhatMustNotChange() throws {
        let folder = try TemporaryFolder()
        try folder.write("file", pattern(1000))
        let file = try UploadSource.open(path: folder.file("file"))
        var status = stat()
        #expect(stat(folder.file("file"), &status) == 0)
        #expect(file.identity.size == 1000)
        #expect(file.identity.inode == UInt64(status.st_ino))
        #expect(file.identity.device == UInt64(status.st_dev))
        #expect(file.identity.modified % 1_000_000_000 == Int64(status.st_mtim.tv_nsec))
        #expect(file.identityNow() == file.identity)
    }

    @Test func noticesATouchAndACut() throws {
        let folder = try TemporaryFolder()
        try folder.write("file", pattern(1000))
        let file = try UploadSource.open(path: folder.file("file"))
        #expect(truncate(folder.file("file"), 999) == 0)
        #expect(file.identityNow()?.size == 999)
        #expect(truncate(folder.file("file"), 1000) == 0)
        var times = [timeval(tv_sec: 1, tv_usec: 5), timeval(tv_sec: 1, tv_usec: 5)]
        #expect(utimes(folder.file("file"), &times) == 0)
        #expect(file.identityNow()?.modified == 1_000_005_000)
        #expect(file.identityNow() != file.identity)
    }

    /// Nanoseconds since 1970 in 64 bits end in the year 2262. The times of files do not.
    @Test(arguments: [9_223_372_037, 10_413_792_000, 15_000_000_000])
    func takesFilesOfAnyDate(_ seconds: Int) throws {
        let folder = try TemporaryFolder()
        try folder.write("file", pattern(1000))
        func date(_ seconds: Int) {
            let times = [timespec(tv_sec: seconds, tv_nsec: 7), timespec(tv_sec: seconds, tv_nsec: 7)]
            #expect(utimensat(AT_FDCWD, folder.file("file"), times, 0) == 0)
        }
        date(seconds)
        let file = try UploadSource.open(path: folder.file("file"))
        #expect(file.identityNow() == file.identity)
        date(seconds + 1)
        #expect(file.identityNow() != file.identity)
    }

    @Test func readsWhatIsInMemoryAndSeesAnotherVersion() throws {
        let folder = try TemporaryFolder()
        let content = pattern(1000)
        try folder.write("file", content)
        let file = try UploadSource.open(path: folder.file("file"))
        let target = UnsafeMutableRawPointer.allocate(byteCount: 600, alignment: 1)
        defer { target.deallocate() }
        // The test accepts a file system that cannot answer, and a machine that is short of memory.
        let first = file.readCached(into: target, 600, at: 300)
        #expect([600, nil].contains(first))
        if first == 600 {
            #expect(UnsafeRawBufferPointer(start: target, count: 600).elementsEqual(content[300..<900]))
        }
        var times = [timeval(tv_sec: 1, tv_usec: 5), timeval(tv_sec: 1, tv_usec: 5)]
        #expect(utimes(folder.file("file"), &times) == 0)
        #expect([0, nil].contains(file.readCached(into: target, 600, at: 300)))
    }

    @Test func theEndOfAFileThatWasCutIsAnotherVersion() throws {
        let folder = try TemporaryFolder()
        try folder.write("file", pattern(1000))
        let file = try UploadSource.open(path: folder.file("file"))
        #expect(truncate(folder.file("file"), 10) == 0)
        let target = UnsafeMutableRawPointer.allocate(byteCount: 10, alignment: 1)
        defer { target.deallocate() }
        #expect([0, nil].contains(file.readCached(into: target, 10, at: 500)))
    }

    /// A new file with the same name does not reach an upload that is running. It is detected when the file is opened
    /// again.
    @Test func aReplacedFileIsAnother() throws {
        let folder = try TemporaryFolder()
        try folder.write("file", pattern(10))
        let file = try UploadSource.open(path: folder.file("file"))
        try folder.write("new", pattern(10, seed: 2))
        #expect(rename(folder.file("new"), folder.file("file")) == 0)
        #expect(file.identityNow() == file.identity)
        #expect(try UploadSource.open(path: folder.file("file")).identity != file.identity)
    }

    @Test func refusesWhatIsNoRegularFile() throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
        for name in ["pipe", "missing", ""] {
            let error = #expect(throws: TransferError.self) { try UploadSource.open(path: folder.file(name)) }
            #expect(error?.code == .sourceUnreadable)
        }
    }
}
