import CLinux
import Glibc
import Synchronization
import Threading

/// A socket that is read without libcurl. It is closed when neither the reactor nor a writer uses it any more.
final class BodySocket: Sendable {
    let fileDescriptor: Int32

    init(_ fileDescriptor: Int32) { self.fileDescriptor = fileDescriptor }

    deinit { close(fileDescriptor) }
}

/// A writer's turn at a socket: it reads the bytes that it writes, block by block in one buffer. So they stay in the
/// cache of one processor, and no other thread is woken for them.
///
/// Until `result` is there, only the writer reads the socket.
final class DirectRead: Sendable {
    /// How a turn ended.
    struct Result: Equatable, Sendable {
        /// Bytes that were read, and given to the sink.
        var count = 0
        /// What recv(2) said last if it brought nothing: 0 at the end, -1 with `code` otherwise. 1 if it was not asked.
        var last = 1
        var code: Int32 = 0
    }

    /// Bytes that are read before other files of the file system, and the reactor, have their turn.
    static let turn = 4 << 20
    /// Bytes that are read at a time: twice as many no longer stay in the cache between reading and writing. A socket
    /// that holds fewer is not worth a turn.
    static let block = 256 << 10

    private let socket: BodySocket
    private let most: Int
    private let isStopped = Atomic<Bool>(false)
    private let end = Guarded<Result?>(nil)

    /// - Parameter most: the bytes that it may read.
    init(_ socket: BodySocket, atMost most: Int) {
        self.socket = socket
        self.most = most
    }

    /// nil until the turn is over.
    var result: Result? { end.withLock { $0 } }

    /// Ends the turn after the block that is being read.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// On the writer's thread.
    func run(into sink: PartSink, through buffer: Buffer) {
        var result = Result()
        while result.count < most, !isStopped.load(ordering: .relaxed), sink.takesMore(at: dld_monotonic_nanoseconds())
        {
            let wanted = min(Self.block, buffer.capacity, most - result.count)
            let count = recv(socket.fileDescriptor, buffer.bytes, wanted, Int32(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                (result.last, result.code) = (count, count < 0 ? errno : 0)
                break
            }
            sink.append(buffer.bytes, count)
            result.count += count
        }
        end.withLock { [result] in $0 = result }
    }
}
