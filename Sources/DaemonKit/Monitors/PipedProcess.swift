import CLinux
import FileKit
import Glibc
import TransferModel

/// A program that gets a text and answers with one, in a session and process group of its own. What it complains of goes
/// nowhere: it may name secrets.
struct PipedProcess {
    private static let waiting = "unset PWD OLDPWD SHLVL; exec \"$0\" \"$@\" 2>/dev/null"

    private let pid: pid_t
    private let output: Descriptor

    /// - Parameters:
    ///   - argv: the program is searched in the PATH of `environment` if it has no slash.
    ///   - text: shorter than what a pipe holds (64 KiB, pipe(7)).
    /// - Throws: `internal` if a pipe cannot be made; `request.bad_field` if the program cannot be started.
    init(_ argv: [String], given text: [UInt8], environment: [String: String]) throws(TransferError) {
        let (input, writer) = try Self.pipe()
        let (reader, output) = try Self.pipe()
        for end in [input, output] { _ = fcntl(end.rawValue, F_SETFL, 0) }
        _ = fcntl(reader.rawValue, F_SETFL, O_NONBLOCK)
        // It is there before the program is: whoever reads none of it does not disturb.
        _ = write(writer.rawValue, text, text.count)
        pid = try ChildProcess.spawn(
            ["/bin/sh", "-c", Self.waiting] + argv, input: input.rawValue, output: output.rawValue,
            environment: environment)
        self.output = reader
    }

    private static func pipe() throws(TransferError) -> (reader: Descriptor, writer: Descriptor) {
        var (reader, writer): (Int32, Int32) = (-1, -1)
        guard dld_pipe(&reader, &writer) == 0 else {
            throw TransferError(.internal, "Cannot make a pipe: \(errorText(errno)).")
        }
        return (Descriptor(reader), Descriptor(writer))
    }

    /// Waits until the program has ended. Blocks. Past `deadline`, or if it says too much, its process group is killed;
    /// what it leaves running when it ends in time, such as a cache of its own, stays.
    /// - Parameter isWanted: asked every 20 ms; if it is false the program is killed as past the deadline.
    /// - Returns: its output and exit status; nil if it was killed, or said more than `most` bytes.
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
                    // Others of its group may still write.
                    kill(-pid, SIGKILL)
                    return nil
                }
                let signal = status & 0x7f
                return (bytes, signal == 0 ? (status >> 8) & 0xff : 128 + signal)
            }
            // Its output has ended before it.
            if isOver { usleep(5_000) }
        }
        kill(-pid, SIGKILL)
        _ = retrying { waitpid(pid, &status, 0) }
        return nil
    }

    /// Takes what is there.
    /// - Returns: whether no more comes.
    private func take(_ bytes: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(output.rawValue, &buffer, buffer.count)
        bytes += buffer.prefix(max(0, count))
        return count == 0
    }
}
