import Testing

/// Acceptance tests: the built programs against misbehaving and real servers. One at a time, since each starts
/// processes and moves real bytes.
@Suite(.serialized)
struct EndToEnd {}
