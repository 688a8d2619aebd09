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
