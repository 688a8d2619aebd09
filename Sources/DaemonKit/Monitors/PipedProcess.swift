import CLinux
import FileKit
import Glibc
import TransferModel

/// A program that gets a text and answers with a text, in its own session and process group. Its error output is
/// discarded, because it may name secrets. It ends at the latest with the thread that started it.
struct PipedProcess {
    private static let waiting = "unset PWD OLDPWD SHLVL; exec \"$0\" \"$@\" 2>/dev/null"

    private let pid: pid_t
    private let output: Descriptor

    /// - Parameters:
    ///   - argv: a program without a slash is searched in the PATH of `environment`.
    ///   - text: shorter than the capacity of a pipe (64 KiB, pipe(7)).
    /// - Throws: `internal` if a pipe cannot be made, or the program cannot be started.
    init(_ argv: [String], given text: [UInt8], environment: [String: String]) throws(TransferError) {
        let (input, writer) = try Self.pipe()
        let (reader, output) = try Self.pipe()
        for end in [input, output] { _ = fcntl(end.rawValue, F_SETFL, 0) }
        _ = fcntl(reader.rawValue, F_SETFL, O_NONBLOCK)
        // Written before the program exists, so a program that does not read its input does no harm.
        _ = write(writer.rawValue, text, text.count)
        pid = ChildProcess.startBound(
            ["/bin/sh", "-c", Self.waiting] + argv, [input.rawValue, output.rawValue, 2, -1], environment: environment)
        guard pid > 0 else { throw TransferError(.internal, "Cannot start /bin/sh: \(errorText(errno)).") }
        self.output = reader
    }

    private static func pipe() throws(TransferError) -> (reader: Descriptor, writer: Descriptor) {
        var (reader, writer): (Int32, Int32) = (-1, -1)
        guard dld_pipe(&reader, &writer) == 0 else {
            throw TransferError(.internal, "Cannot make a pipe: \(errorText(errno)).")
        }
        return (Descriptor(reader), Descriptor(writer))
    }

    /// Waits until the program has ended. Blocks. After `deadline`, or if the output is too long, its process group is
    /// killed. If the program ends in time, other processes that it started (such as a cache) continue.
    /// - Parameter isWanted: called every 20 ms. If it returns false, the program is killed as after the deadline.
    /// - Returns: the output and exit status; nil if the program was killed or wrote more than `most` bytes.
    func answer(
        atMost most: Int, until deadline: ContinuousClock.Instant, while isWanted: () -> Bool = { true }
    ) -> (bytes: [UInt8], status: Int32)? {
        var bytes: [UInt8] = []
        var status: Int32 = 0
        while ContinuousClock.now < deadline, bytes.count <= most, isWanted() {
            var watched = pollfd(fd: output.rawValue, events: Int16(POLLIN), revents: 0)
            _ = poll(&watched, 1, 20)
            let isOver = take(&bytes)
            if waitpid(pid, &status, WNOHANG) == pid {
                while bytes.count <= most, !take(&bytes), poll(&watched, 1, 0) > 0 {}
                guard bytes.count <= most else {
                    // Other processes of its group may still write.
                    kill(-pid, SIGKILL)
                    return nil
                }
                let signal = status & 0x7f
                return (bytes, signal == 0 ? (status >> 8) & 0xff : 128 + signal)
            }
            // The output has ended before the program.
            if isOver { usleep(5_000) }
        }
        kill(-pid, SIGKILL)
        _ = retrying { waitpid(pid, &status, 0) }
        return nil
    }

    /// Reads what is available.
    /// - Returns: whether the output has ended.
    private func take(_ bytes: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(output.rawValue, &buffer, buffer.count)
        bytes += buffer.prefix(max(0, count))
        return count == 0
    }
}
