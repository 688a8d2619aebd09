import Threading
import TransferModel
import TransferRPC

@testable import dlctl

/// Collects elements, and lets a test wait for them.
final class Recorder<Element: Sendable>: Sendable {
    private let elements = Guarded<[Element]>([])

    func add(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }

    /// Polls until the condition is true. Returns false if it never was.
    func wait(_ condition: @Sendable ([Element]) -> Bool) async -> Bool {
        for _ in 0..<3000 {
            if condition(all) { return true }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return condition(all)
    }
}

/// A display that records what it is told to show.
struct RecordingDisplay: FollowDisplay {
    let lines: Recorder<String>

    mutating func show(_ changes: [FollowState.Change], _ state: FollowState, now: Timestamp) {
        for line in changes.compactMap({ ChangeLine.log($0, now: now) }) { lines.add(line) }
    }
    mutating func ended(_ view: TaskView) { lines.add("ended \(view.id)") }
    mutating func tick(_ state: FollowState, now: Timestamp) {}
    mutating func resized(_ state: FollowState, now: Timestamp) {}
    mutating func leave() { lines.add("leave") }
    mutating func finish(_ state: FollowState, now: Timestamp) { lines.add("finish") }
}
