import Testing

/// Acceptance tests: the built programs against misbehaving and real servers. A test starts processes, moves real bytes
/// and mostly waits. Therefore a few suites run side by side, each with one test at a time. They take about the same
/// time, so that none is alone at the end: `scripts/test` prints how long each took.
struct EndToEnd {
    /// One file from one server.
    @Suite(.serialized) struct Downloading {}
    /// Files in parts, from mirrors and in codings.
    @Suite(.serialized) struct Gathering {}
    @Suite(.serialized) struct Uploading {}
    /// The daemon, its users and their clients.
    @Suite(.serialized) struct Serving {}
    /// When tasks begin, wait and make room; and the programs that the daemon starts for them.
    @Suite(.serialized) struct Scheduling {}
    /// Questions to clients, credentials, and servers that are trusted.
    @Suite(.serialized) struct Asking {}
    /// What the daemon keeps for later requests and for its clients: sessions, streams, cache, cookies, HSTS.
    @Suite(.serialized) struct Remembering {}
    /// The daemon, its machine or its disk dies.
    @Suite(.serialized) struct Surviving {}
    /// The same in seeded worlds and at every call.
    @Suite(.serialized) struct Simulating {}
}
