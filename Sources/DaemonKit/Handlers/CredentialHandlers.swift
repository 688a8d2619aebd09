import DaemonSetup
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// credentials.list, credentials.set and credentials.remove. All concern only the user who asks.
enum CredentialHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.listCredentials) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            return ListedCredentials(
                credentials: services.keepers.credentials.list(place).map(CredentialView.init))
        }
        table.add(Methods.setCredential) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            let credential = try Self.credential(parameters)
            try await services.keepers.credentials.set(credential, isDefault: parameters.isDefault, in: place)
            let stored = services.keepers.credentials.list(place).last {
                $0.space == credential.space && $0.username == credential.username
            }
            return SetCredentialResult(credential: CredentialView(stored ?? credential))
        }
        table.add(Methods.removeCredentials) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            let space = try parameters.protectionSpace.normalized("protectionSpace")
            return RemovedCredentials(
                removed: try await services.keepers.credentials.remove(
                    at: space, username: parameters.username, in: place))
        }
    }

    /// - Throws: `session.not_found`, also if the session has ended; `session.in_use`.
    private static func place(
        _ session: String?, _ context: RequestContext, _ services: Services
    ) async throws -> OwnedPlace {
        guard let session else { return .shared(context.peer.uid) }
        let key = try await services.session(session, of: context).key
        return try services.volatile.owns(key, context.connection.id) ? .volatile(key) : .session(key)
    }

    /// - Throws: `request.bad_field`.
    static func credential(_ parameters: SetCredential) throws(TransferError) -> StoredCredential {
        let space = try parameters.protectionSpace.normalized("protectionSpace")
        let given = parameters.credential
        try SpecRules(path: "credential").check(given)
        guard let username = given.username, !username.isEmpty, let password = given.password, given.certificate == nil,
            given.key == nil
        else { throw TransferError.bad("credential", "give username and password.") }
        let ofSession = parameters.session != nil
        let persistence = given.persistence ?? (ofSession ? .session : .permanent)
        switch persistence {
        case .none:
            throw TransferError.bad(
                "credential.persistence", "what is not kept cannot be stored; say session or permanent.")
        case .permanent where ofSession:
            throw TransferError.bad(
                "credential.persistence", "what one session has ends with it; say session, or leave out `session`.")
        case .session, .permanent: break
        }
        return StoredCredential(space: space, username: username, password: password, persistence: persistence)
    }
}
