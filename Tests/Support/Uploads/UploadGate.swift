/// How far an upload server reads until its test lets it go on.
package enum UploadGate: Sendable {
    /// So many bytes of each body.
    case body(Int)
    /// Until it holds so many bytes of files.
    case files(Int)

    /// Bytes that may still be read.
    func room(taken: Int, held: Int) -> Int {
        switch self {
        case .body(let limit): limit - taken
        case .files(let limit): limit - held
        }
    }
}

/// A server, or what stands before one, that reads uploads no further than a gate: what a test does meanwhile meets an
/// upload that is under way, however long it takes.
package protocol UploadHolder: Sendable {
    /// What a client sent that is dead by then does not come through a gate of later.
    func hold(_ gate: UploadGate)
    func release()
    /// Bytes that may come beyond a gate all the same.
    var overrun: Int { get }
}
