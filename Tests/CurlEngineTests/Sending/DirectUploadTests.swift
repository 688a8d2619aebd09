import CLinux
import Foundation
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Long bodies on plain connections: their middle goes from the file to the socket.
@Suite struct DirectUploadTests {
    private static let length = Int(PayloadFeed.copiedEnd) + 9_000_001
    private static let content = longPattern(length)
    private static let payload = Payload.source(offset: 0, length: ByteCount(Int64(length)))

    /// What a socket gets of a feed whose first bytes libcurl has taken.
    @Test func theMiddleIsSentFromTheFile() throws {
        let folder = try TemporaryFolder()
        try folder.write("file", Self.content)
        let source = try UploadSource.open(path: folder.file("file"))
        let head = Array("head".utf8)
        let feed = PayloadFeed(
            .framed(head: head, offset: 5, length: ByteCount(Int64(Self.length - 5)), tail: [7]), source: source,
            files: FileSide(journal: nil, bufferBound: 1_000_000, inPlace: true))
        feed.start {}
        feed.allowDirect(true)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let beginning = head.count + Int(PayloadFeed.copiedBeginning)
        var got = 0
        buffer.withUnsafeMutableBytes { target in
            guard let start = target.baseAddress else { return }
            while case .bytes(let count) = feed.read(into: start + got, target.count - got) { got += count }
        }
        #expect(Array(buffer[..<got]) == head + Self.content[5..<5 + got - head.count])
        #expect(got == beginning)
        #expect(feed.read(into: &buffer, 1) == .push)
        var pair: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
        let ends = pair.map(BodySocket.init)
        var place = 5 + got - head.count
        while feed.read(into: &buffer, 1) == .push {
            #expect(feed.push(to: ends[0], atMost: 300_001) == .wait)
            let sent = try #require(feed.collect())
            #expect(sent > 0)
            var arrived = [UInt8](repeating: 0, count: sent)
            #expect(recv(pair[1], &arrived, sent, Int32(MSG_WAITALL)) == sent)
            try #require(arrived == Array(Self.content[place..<place + sent]))
            place += sent
        }
        #expect(feed.pushed == feed.length - 5 - PayloadFeed.copiedBeginning - PayloadFeed.copiedEnd)
    }

    @Test func whatAFileSystemCannotSendIsCopied() throws {
        // proc(5) can be read, but not sent.
        let arguments = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)
        defer { close(arguments) }
        var bytes = [UInt8](repeating: 0, count: 5000)
        let length = pread(arguments, &bytes, bytes.count, 0)
        try #require(length > 0)
        bytes.removeSubrange(length...)
        var pair: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let ends = pair.map(BodySocket.init)
        try #require(dld_send_file(ends[0].fileDescriptor, arguments, 0, bytes.count) == bytes.count)
        var arrived = [UInt8](repeating: 0, count: bytes.count)
        #expect(recv(ends[1].fileDescriptor, &arrived, bytes.count, 0) == bytes.count)
        #expect(arrived == bytes)
    }

    /// The second request uses the connection of the first.
    @Test func arrivesWholeAndSoDoesTheNext() async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                let isSame = connection.readBody(of: head) == Self.content
                let lengths = head.headers.filter { $0.name == "Content-Length" }.map(\.value)
                connection.answer(isSame && lengths == ["\(Self.length)"] ? 201 : 409)
            }
        }
        let source = try bench.source(Self.content)
        for _ in 0..<2 {
            let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source)
            #expect(outcome.end == .finished)
            #expect(outcome.head?.status == 201)
            #expect(outcome.isSentWhole)
            #expect(outcome.sent == ByteCount(Int64(Self.length)))
            #expect(bench.counters.bytesSent == ByteCount(Int64(Self.length)))
        }
        #expect(server.connectionCount == 1)
        await bench.engine.shutdown()
    }

    /// The first body is refused at its end. libcurl repeats the request, on the same connection or on another.
    @Test func isRepeatedAfterAChallenge() async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                let isSame = connection.readBody(of: head) == Self.content
                if head.header("Authorization")?.hasPrefix("Digest") == true, head.length > 0 {
                    connection.answer(isSame ? 201 : 409)
                } else {
                    connection.answer(401, [#"WWW-Authenticate: Digest realm="r", nonce="n", qop="auth""#])
                }
            }
        }
        let source = try bench.source(Self.content)
        let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source) {
            $0.network.username = "u"
            $0.network.password = "p"
        }
        #expect(outcome.head?.status == 201)
        #expect(outcome.isSentWhole)
        await bench.engine.shutdown()
    }
}
