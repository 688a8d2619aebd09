import CLinux
import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Turns of a writer at a socket, on the test's own thread.
@Suite struct DirectReadTests {
    /// A part file, a sink on it, and a connection whose other end the test holds.
    private struct Place {
        let bench: Bench
        let part: PartFile
        let sink: PartSink
        let socket: BodySocket
        let peer: Int32

        init(_ device: String? = nil, holdsFiles: Bool = false) throws {
            bench = try Bench(holdsFiles: holdsFiles)
            part = try bench.part()
            if let device {
                let descriptor = open(device, O_RDWR | O_CLOEXEC)
                #expect(dup2(descriptor, part.fileDescriptor) >= 0)
                close(descriptor)
            }
            (socket, peer) = try Self.connection()
            let services = PartBoard.Services(
                threads: DeviceThreads(device: part.device, inPlace: true), journal: nil,
                buffers: BufferPool(bound: 1 << 20), ledger: SinkLedger(), onBuffersFreed: {})
            let board = PartBoard(part: part, alone: .zero, context: bench.context, services: services)
            sink = board.sink(Acceptance(offset: .zero), onChange: {})
            sink.begin()
        }

        static func connection() throws -> (socket: BodySocket, peer: Int32) {
            var pair: [Int32] = [-1, -1]
            let code = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
            try #require(code == 0)
            return (BodySocket(pair[0]), pair[1])
        }

        func send(_ bytes: [UInt8]) {
            let count = Glibc.send(peer, bytes, bytes.count, 0)
            #expect(count == bytes.count)
        }

        var waiting: Int { Int(dld_readable_bytes(socket.fileDescriptor)) }

        /// A turn with a buffer of 4 KiB.
        func turn(atMost most: Int = 1 << 20, isStopped: Bool = false) throws -> DirectRead.Result {
            let read = DirectRead(socket, atMost: most)
            if isStopped { read.stop() }
            #expect(read.result == nil)
            read.run(into: sink, through: Buffer(capacity: 4096))
            return try #require(read.result)
        }
    }

    @Test func aTurnTakesNoMoreThanItMay() throws {
        let place = try Place()
        let bytes = pattern(50_000)
        place.send(bytes)
        let first = try place.turn(atMost: 30_000)
        #expect(first == DirectRead.Result(count: 30_000))
        #expect(place.waiting == 20_000)
        #expect(place.sink.now.written == 30_000)
        let second = try place.turn()
        #expect(second == DirectRead.Result(count: 20_000, last: -1, code: EAGAIN))
        #expect(identical(try place.bench.folder.read("part"), bytes))
        #expect(place.sink.now.crcWritten == dld_crc32c_portable(0, bytes, bytes.count))
        close(place.peer)
    }

    @Test func theEndAndAResetAreToldApart() throws {
        let ended = try Place()
        ended.send(pattern(100))
        close(ended.peer)
        #expect(try ended.turn() == DirectRead.Result(count: 100, last: 0))

        let reset = try Place()
        reset.send(pattern(100))
        // A peer that closes with unread bytes resets the connection.
        #expect(Glibc.send(reset.socket.fileDescriptor, "x", 1, 0) == 1)
        close(reset.peer)
        let result = try reset.turn()
        #expect(result.last == -1)
        #expect(result.code == ECONNRESET)
    }

    @Test func aTurnThatIsStoppedTakesNothing() throws {
        let place = try Place()
        place.send(pattern(100))
        #expect(try place.turn(isStopped: true) == DirectRead.Result())
        #expect(place.waiting == 100)
        close(place.peer)
    }

    @Test func aFailedFileEndsTheTurn() throws {
        let place = try Place("/dev/full")
        place.send(pattern(10_000))
        #expect(try place.turn().count == 4096)
        #expect(place.sink.failure?.errno == ENOSPC)
        #expect(place.waiting == 10_000 - 4096)
        close(place.peer)
    }

    @Test func aTurnObeysTheBoundsOfItsFile() throws {
        let unknown = try Place(holdsFiles: true)
        unknown.send(pattern(10_000))
        try unknown.part.truncate(to: ByteCount(PartSink.unknownBytes + 1))
        unknown.sink.wrote(PartSink.unknownBytes + 1, crcOf: nil, Int(PartSink.unknownBytes + 1))
        #expect(try unknown.turn() == DirectRead.Result())
        #expect(unknown.bench.observer.proceed())
        #expect(try unknown.turn().count == 10_000)
        close(unknown.peer)

        let late = try Place()
        late.send(pattern(10_000))
        try late.part.truncate(to: ByteCount(CheckpointPace.unsyncedBytes + 1))
        late.sink.wrote(1, crcOf: nil, 1)
        let slow = try #require(late.sink.board.joinRound(at: dld_monotonic_nanoseconds()))
        late.sink.wrote(CheckpointPace.unsyncedBytes + 2, crcOf: nil, 1)
        #expect(try late.turn() == DirectRead.Result())
        slow.synced()
        try late.part.truncate(to: ByteCount(CheckpointPace.unsyncedBytes + 2))
        #expect(try late.turn().count == 10_000)
        close(late.peer)
    }

    @Test func theSocketStaysOpenAsLongAsSomebodyUsesIt() throws {
        let (read, peer) = try {
            let (socket, peer) = try Place.connection()
            return (Guarded<DirectRead?>(DirectRead(socket, atMost: 1)), peer)
        }()
        #expect(send(peer, "x", 1, Int32(MSG_NOSIGNAL)) == 1)
        read.withLock { $0 = nil }
        #expect(send(peer, "x", 1, Int32(MSG_NOSIGNAL)) == -1)
        close(peer)
    }
}
