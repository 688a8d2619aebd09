import Glibc
import Logging
import TestSupport
import Testing
import Threading

@testable import DaemonKit

struct DescriptorWatchTests {
    /// A log handler that keeps the messages.
    private struct Kept: LogHandler {
        let messages: Guarded<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) { messages.withLock { $0.append("\(event.level) \(event.message)") } }
    }

    @Test func aWantIsToldOnceAndItsEndOnce() async {
        let messages = Guarded([String]())
        let isOver = Guarded(false)
        let watch = DescriptorWatch(logger: Logger(label: "test") { _ in Kept(messages: messages) }) {
            while !isOver.withLock({ $0 }) { await Task.yield() }
        }
        watch.failed(errno: ECONNABORTED)
        #expect(messages.withLock(\.isEmpty))
        for _ in 0..<3 { watch.failed(errno: EMFILE) }
        #expect(messages.withLock { $0 } == ["warning no file descriptor is left: connections and files wait"])
        isOver.withLock { $0 = true }
        #expect(await eventually { messages.withLock(\.count) == 2 })
        #expect(messages.withLock(\.last) == "notice there are descriptors again")
        isOver.withLock { $0 = false }
        watch.failed(errno: ENFILE)
        #expect(messages.withLock(\.count) == 3)
        isOver.withLock { $0 = true }
    }
}
