import Testing

/// Acceptance tests: the built programs against misbehaving and real servers. A test starts processes, moves real bytes
/// and mostly waits. Therefore a few suites run side by side, each with one test at a time.
struct EndToEnd {
    @Suite(.serialized) struct Downloading {}
    @Suite(.serialized) struct Uploading {}
    /// The daemon and its clients.
    @Suite(.serialized) struct Serving {}
    /// The daemon, its machine or its disk dies.
    @Suite(.serialized) struct Surviving {}
}
