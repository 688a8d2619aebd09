import Foundation
import Glibc
import Testing

@testable import Threading

@Suite struct NamedThreadTests {
    /// Signals belong to the main thread. If a worker took a signal, the thread that waits for it would miss it.
    @Test func signalsAreBlockedAndTheNameIsSet() {
        let seen = ConditionLock<(name: String, blocksTermination: Bool)?>(nil)
        let started = NamedThread.start("dld-example") {
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
            seen.withLock { $0 = (name ?? "", sigismember(&mask, SIGTERM) == 1) }
            seen.broadcast()
        }
        #expect(started)
        let found = seen.wait { $0 }
        #expect(found.name == "dld-example\n")
        #expect(found.blocksTermination)
    }
}
