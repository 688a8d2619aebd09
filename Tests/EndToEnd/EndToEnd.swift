import Testing

/// Acceptance tests: the built programs against misbehaving and real servers. A test starts processes, moves real bytes
/// and mostly waits. So a few rows run side by side, each one test at a time.
struct EndToEnd {
    @Suite(.serialized) struct Downloading {}
    @Suite(.serialized) struct Uploading {}
    /// The daemon and its clients.
    @Suite(.serialized) struct Serving {}
    /// Deaths of the daemon, of its machine and of its disk.
    @Suite(.serialized) struct Surviving {}
}
