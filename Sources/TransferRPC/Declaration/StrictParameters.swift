import TransferModel

/// Decodes a method's parameters and refuses unknown members.
public struct StrictParameters<Parameters: WireObject>: Decodable {
    public let value: Parameters

    public init(from decoder: any Decoder) throws {
        _ = try StrictFields(decoder, Parameters.Key.self)
        value = try Parameters(from: decoder)
    }
}
