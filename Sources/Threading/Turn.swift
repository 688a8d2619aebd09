/// Lets others go first. Code that works in place of threads uses it, because others would run while a thread works.
package enum Turn {
    /// Returns when all ready tasks have had their turn. Unlike `Task.yield()`, it comes back through `Task`, whose
    /// order a simulation decides.
    package static func pass() async {
        await withCheckedContinuation { continuation in
            Task { continuation.resume() }
        }
    }
}
