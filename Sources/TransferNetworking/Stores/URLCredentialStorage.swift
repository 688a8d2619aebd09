import Threading
import TransferModel
import TransferRPC

/// Credentials by protection space: those that this process set, and the user's permanent ones, which the daemon has.
/// Only the first access waits for the daemon.
open class URLCredentialStorage: NSObject, @unchecked Sendable {
    private struct Values: Sendable {
        var credentials: [URLProtectionSpace: [String: URLCredential]] = [:]
        var defaults: [URLProtectionSpace: URLCredential] = [:]
        var isLoaded = false
    }

    open class var shared: URLCredentialStorage { common }
    private static let common: URLCredentialStorage = {
        let storage = URLCredentialStorage()
        storage.values.withLock { $0.isLoaded = false }
        return storage
    }()

    private let values = Guarded(Values(isLoaded: true))
    /// Sessions that have it.
    let link = StoreLink()

    private var isShared: Bool { self === Self.common }

    func attach(_ core: SessionCore) {
        link.attach(core)
        for (space, credentials) in values.withLock({ $0.credentials }) {
            for credential in credentials.values where credential.persistence == .forSession { send(credential, space) }
        }
    }

    private func load() {
        guard isShared, !values.withLock({ $0.isLoaded }) else { return }
        waitBriefly { done in
            StoreLink.user.read(Methods.listCredentials, { _ in .init() }) { [self] result in
                values.withLock { values in
                    values.isLoaded = true
                    for listed in result?.credentials ?? [] {
                        let space = URLProtectionSpace(listed.protectionSpace)
                        guard values.credentials[space]?[listed.username] == nil else { continue }
                        let credential = URLCredential(
                            user: listed.username, password: nil, persistence: .permanent, isStoredElsewhere: true)
                        values.credentials[space, default: [:]][listed.username] = credential
                        if listed.isDefault { values.defaults[space] = credential }
                    }
                }
                done()
            }
        }
    }

    open var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
        load()
        return values.withLock { $0.credentials }
    }

    open func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? { allCredentials[space] }

    open func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
        load()
        return values.withLock { $0.defaults[space] }
    }

    /// A credential of persistence `none` is not kept.
    open func set(_ credential: URLCredential, for space: URLProtectionSpace) {
        set(credential, space, isDefault: false)
    }
    open func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
        set(credential, space, isDefault: true)
    }

    private func set(_ credential: URLCredential, _ space: URLProtectionSpace, isDefault: Bool) {
        guard credential.persistence != .none, let user = credential.user else { return }
        load()
        let isNew = values.withLock { values in
            let before = (values.credentials[space]?[user], values.defaults[space])
            values.credentials[space, default: [:]][user] = credential
            if isDefault || values.defaults[space] == nil { values.defaults[space] = credential }
            return before != (credential, values.defaults[space])
        }
        send(credential, space, isDefault: isDefault)
        if isNew { tell() }
    }

    private func send(_ credential: URLCredential, _ space: URLProtectionSpace, isDefault: Bool = false) {
        guard let given = credential.decision else { return }
        let isUsers = isShared && credential.persistence.stored == .permanent
        (isUsers ? StoreLink.user : link).change(Methods.setCredential) { session in
            var given = given
            if !isUsers { given.persistence = .session }
            return .init(
                session: session, protectionSpace: space.stored, credential: given, isDefault: isDefault ? true : nil)
        }
    }

    open func remove(_ credential: URLCredential, for space: URLProtectionSpace) {
        remove(credential, for: space, options: nil)
    }
    open func remove(_ credential: URLCredential, for space: URLProtectionSpace, options: [String: Any]?) {
        load()
        let user = credential.user ?? ""
        let wasThere = values.withLock { values in
            if values.defaults[space]?.user == user { values.defaults[space] = nil }
            defer { if values.credentials[space]?.isEmpty == true { values.credentials[space] = nil } }
            return values.credentials[space]?.removeValue(forKey: user) != nil
        }
        guard wasThere else { return }
        let isUsers = isShared && credential.persistence.stored == .permanent
        (isUsers ? StoreLink.user : link).change(Methods.removeCredentials) {
            .init(session: $0, protectionSpace: space.stored, username: user)
        }
        tell()
    }

    func removeAll() {
        for (space, credentials) in allCredentials {
            for credential in credentials.values { remove(credential, for: space) }
        }
    }

    private func tell() { NotificationCenter.default.post(name: .NSURLCredentialStorageChanged, object: self) }

    // MARK: For a task

    open func getCredentials(
        for space: URLProtectionSpace, task: URLSessionTask,
        completionHandler: @Sendable @escaping ([String: URLCredential]?) -> Void
    ) {
        completionHandler(credentials(for: space))
    }
    open func set(_ credential: URLCredential, for space: URLProtectionSpace, task: URLSessionTask) {
        set(credential, for: space)
    }
    open func remove(
        _ credential: URLCredential, for space: URLProtectionSpace, options: [String: Any]? = [:], task: URLSessionTask
    ) {
        remove(credential, for: space, options: options)
    }
    open func getDefaultCredential(
        for space: URLProtectionSpace, task: URLSessionTask,
        completionHandler: @Sendable @escaping (URLCredential?) -> Void
    ) {
        completionHandler(defaultCredential(for: space))
    }
    open func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace, task: URLSessionTask) {
        setDefaultCredential(credential, for: space)
    }
}

extension URLProtectionSpace {
    fileprivate var stored: CredentialSpace {
        let method = Self.methods.first { $0.value == authenticationMethod }?.key
        return CredentialSpace(
            host: host, port: port, protocol: (`protocol` ?? "http").hasPrefix("https") ? "https" : "http",
            realm: realm, method: method, isProxy: isProxy())
    }

    fileprivate convenience init(_ space: CredentialSpace) {
        let method = space.method.flatMap { Self.methods[$0] }
        if space.isProxy {
            self.init(
                proxyHost: space.host, port: space.port, type: nil, realm: space.realm, authenticationMethod: method)
        } else {
            self.init(
                host: space.host, port: space.port, protocol: space.protocol, realm: space.realm,
                authenticationMethod: method)
        }
    }
}

extension NSNotification.Name {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let NSURLCredentialStorageChanged = NSNotification.Name("NSURLCredentialStorageChangedNotification")
}
