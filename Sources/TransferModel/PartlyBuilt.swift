/// Names of the contract that are not all built: refusals list those that are.
public protocol PartlyBuilt {
    var isBuilt: Bool { get }
}

extension SessionConfiguration.CodingKeys: PartlyBuilt {
    public var isBuilt: Bool {
        ![
            .isDiscretionary, .allowsExpensiveNetworkAccess, .allowsConstrainedNetworkAccess,
        ].contains(self)
    }
}
