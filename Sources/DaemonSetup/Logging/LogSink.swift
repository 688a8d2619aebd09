import Glibc
import Threading

/// One log line, and the same as an entry with fields for the journal.
struct LogRecord: Sendable {
    var line: String
    var entry: JournalEntry?
}

/// Writes log lines to a file descriptor on its own thread, so that a terminal or pipe that nobody reads never stops a
/// transfer. If too many lines wait, further lines are dropped and counted.
package final class LogSink: Sendable {
    private struct State {
        var pending: [LogRecord] = []
        /// The size of `pending` in bytes.
        var size = 0
        var dropped = 0
        var isWriting = false
    }

    private let descriptor: Int32
    private let limit: Int
    /// Sending may block if the journal is slow, so only the log's thread sends.
    private let journal: DatagramSocket?
    private let state = ConditionLock(State())

    /// - Parameter limit: the most bytes that may wait to be written.
    package convenience init(descriptor: Int32, limit: Int = 1 << 20) {
        self.init(descriptor: descriptor, limit: limit, journal: nil)
    }

    /// - Parameter journal: gets the records that have fields.
    init(descriptor: Int32, limit: Int = 1 << 20, journal: DatagramSocket?) {
        self.descriptor = descriptor
        self.limit = limit
        self.journal = journal
        // The thread keeps the sink alive, so a sink lives as long as its process.
        _ = NamedThread.start("dld-log") { self.run() }
    }

    /// Standard error, for the whole life of the process.
    package static let standardError = LogSink(
        descriptor: STDERR_FILENO, journal: DatagramSocket("/run/systemd/journal/socket"))

    package func write(_ line: String) { write(LogRecord(line: line)) }

    func write(_ record: LogRecord) {
        let size = record.line.utf8.count
        state.withLock { state in
            if state.size + size > limit {
                state.dropped += 1
            } else {
                state.pending.append(record)
                state.size += size
            }
        }
        state.broadcast()
    }

    /// Waits until everything is written, at most `milliseconds`. For use before the process ends.
    package func flush(milliseconds: Int = 500) {
        _ = state.wait(milliseconds: milliseconds) { $0.isWriting || !$0.pending.isEmpty ? nil : true }
    }

    private func run() {
        while true {
            let (records, dropped) = state.wait { state -> ([LogRecord], Int)? in
                guard !state.pending.isEmpty else { return nil }
                defer { state = State(isWriting: true) }
                return (state.pending, state.dropped)
            }
            writeAll(records, dropped: dropped)
            state.withLock { $0.isWriting = false }
            state.broadcast()
            // Lines in quick succession are written together, without one wake-up for each.
            usleep(Self.gathering)
        }
    }

    /// How long a line waits for others, in microseconds.
    private static let gathering: UInt32 = 5000

    /// Writes consecutive lines together.
    private func writeAll(_ records: [LogRecord], dropped: Int) {
        var bytes: [UInt8] = []
        for record in records {
            if let entry = record.entry, let journal {
                writeAll(bytes)
                bytes.removeAll(keepingCapacity: true)
                if journal.send(entry.datagram, waits: true) { continue }
            }
            bytes += record.line.utf8
        }
        if dropped > 0 { bytes += Array("\(dropped) log lines were dropped because nobody read them\n".utf8) }
        writeAll(bytes)
    }

    /// If the descriptor is closed or broken, the lines are lost, and the daemon continues.
    private func writeAll(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count, let start = buffer.baseAddress {
                let count = Glibc.write(descriptor, start + offset, buffer.count - offset)
                if count > 0 {
                    offset += count
                } else if errno == EAGAIN {
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&ready, 1, 1000)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}
