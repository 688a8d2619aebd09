/// Whoever works in place of threads lets others go first by it, as they would while a thread works.
package enum Turn {
    /// Goes on when all who are ready had their turn. Unlike `Task.yield()` it comes back through `Task`, whose order a
    /// simulation decides.
    package static func pass() async {
        await withCheckedContinuation { continuation in
            Task { continuation.resume() }
        }
    }
}
