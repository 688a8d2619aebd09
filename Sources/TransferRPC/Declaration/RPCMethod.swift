import TransferModel

/// One method of the protocol, declared once: daemon, client and reference use this declaration.
public protocol RPCMethod: Sendable {
    associatedtype Parameters: WireObject
    associatedtype Result: WireObject
    /// The name in a request, such as `task.add`.
    static var name: String { get }
    /// The description in the reference.
    static var summary: String { get }
    /// Codes this method may answer with, besides those any method may (`RPCCatalog.commonErrors`).
    static var errors: [ErrorCode] { get }
}

/// An empty object: no parameters, or an empty result.
public struct Nothing: WireObject, Hashable {
    public static let shape = Shape("Nothing", Self()) { _ in }
    public init() {}
}
