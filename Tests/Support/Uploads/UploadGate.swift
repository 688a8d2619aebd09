/// How far an upload server reads until its test releases it.
package enum UploadGate: Sendable {
    /// This many bytes of each body.
    case body(Int)
    /// Until it has this many bytes of files.
    case files(Int)

    /// The bytes that may still be read.
    func room(taken: Int, held: Int) -> Int {
        switch self {
        case .body(let limit): limit - taken
        case .files(let limit): limit - held
        }
    }
}

/// A server, or a relay in front of one, that reads uploads no further than a gate. So a test can act on a running
/// upload, however long the test takes.
package protocol UploadHolder: Sendable {
    /// What a dead client sent before a gate was set does not pass that gate.
    func hold(_ gate: UploadGate)
    func release()
    /// The bytes that may pass a gate nevertheless.
    var overrun: Int { get }
}
