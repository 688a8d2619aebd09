import Testing

/// Acceptance tests: the built programs against misbehaving and real servers. Each starts processes and moves real
/// bytes, and waits most of its time: a few rows, each one at a time, keep the processor busy and no more.
struct EndToEnd {
    @Suite(.serialized) struct Downloading {}
    @Suite(.serialized) struct Uploading {}
    /// The daemon and its clients.
    @Suite(.serialized) struct Serving {}
    /// Deaths of the daemon, of its machine and of its disk.
    @Suite(.serialized) struct Surviving {}
}
