import Glibc
import Logging
import Threading

/// Reports once when the process or the machine has run out of descriptors, and once when some are free again.
package final class DescriptorWatch: Sendable {
    /// The shortage is over only when this many descriptors are free. Otherwise it would begin and end with each
    /// connection.
    private static let enough = 16

    private let logger: Logger
    private let pause: @Sendable () async -> Void
    private let isLacking = Guarded(false)

    /// - Parameter pause: waits between two checks.
    package init(
        logger: Logger, pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .seconds(1)) }
    ) {
        self.logger = logger
        self.pause = pause
    }

    /// Reports a failure with this error number. Only a lack of descriptors counts.
    package func failed(errno code: Int32) {
        guard code == EMFILE || code == ENFILE else { return }
        let begins = isLacking.withLock { lacking in
            defer { lacking = true }
            return !lacking
        }
        guard begins else { return }
        logger.warning(
            "no file descriptor is left: connections and files wait",
            metadata: [
                "limit":
                    "\(code == EMFILE ? "of the daemon (ulimit -n, LimitNOFILE=)" : "of the machine (fs.file-max)")"
            ])
        Task { await self.waitForEnd() }
    }

    private func waitForEnd() async {
        repeat { await pause() } while !Self.hasSome
        isLacking.withLock { $0 = false }
        logger.notice("there are descriptors again")
    }

    private static var hasSome: Bool {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<enough {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return false }
            taken.append(descriptor)
        }
        return true
    }
}
