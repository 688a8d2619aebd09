import TransferModel

/// One method of the protocol, declared once: daemon, client and reference use this declaration.
public struct Method<Parameters: WireObject, Result: WireObject>: RPCMethod {
    public let name: String
    public let summary: String
    public let errors: [ErrorCode]

    package init(_ name: String, _ summary: String, _ errors: [ErrorCode] = []) {
        self.name = name
        self.summary = summary
        self.errors = errors
    }
}

/// A method of any types, for lists of methods.
public protocol RPCMethod: Sendable {
    associatedtype Parameters: WireObject
    associatedtype Result: WireObject
    /// The name in a request, such as `task.add`.
    var name: String { get }
    /// The description in the reference.
    var summary: String { get }
    /// Codes this method may answer with, besides those any method may (`RPCCatalog.commonErrors`).
    var errors: [ErrorCode] { get }
}

extension RPCMethod {
    package var parameters: any WireObject.Type { Parameters.self }
    package var result: any WireObject.Type { Result.self }
}

/// An empty object: no parameters, or an empty result.
public struct Nothing: WireObject, Hashable {
    public static let shape = Shape("Nothing", Self()) { _ in }
    public init() {}
}
