import CurlEngine
import DaemonSetup
import TransferCore
import TransferModel

/// The cookies of one running task, as its session's policy allows them.
final class TaskCookies: CookieKeeping {
    private let storage: CookieStorage
    private let name: String
    private let policy: CookiePolicy
    private let url: String
    private let time: any TimeSource
    private let changed: (@Sendable ([String: [Cookie.Identity]]) -> Void)?

    /// - Parameters:
    ///   - name: the jar in the storage.
    ///   - url: the task's own URL.
    ///   - changed: called at once with the cookies to store.
    init(
        _ storage: CookieStorage, _ name: String, _ policy: CookiePolicy, url: String, time: any TimeSource,
        changed: (@Sendable ([String: [Cookie.Identity]]) -> Void)? = nil
    ) {
        self.storage = storage
        self.name = name
        self.policy = policy
        self.url = url
        self.time = time
        self.changed = changed
    }

    /// The cookies for the next attempt; nil if the task has none of its own.
    var leftover: CookieJar? {
        guard policy.storage == .task, !storage.isEmpty(name) else { return nil }
        return storage.jar(name)
    }

    /// No request gets any cookie.
    var isEmpty: Bool { !policy.sends || storage.isEmpty(name) }

    func field(for request: @autoclosure () -> CookieRequest, without names: @autoclosure () -> Set<String>) -> String?
    {
        guard !isEmpty else { return nil }
        var request = request()
        request.crossedSites = request.crossedSites || policy.crossedSites
        return storage.field(name, request, at: time.reading().wall, without: names())
    }

    func receive(_ fields: [String], from url: CookieURL) {
        guard policy.takes(from: url.host, main: CookieURL(self.url)?.host ?? "") else { return }
        let now = time.reading().wall
        let keys = storage.change(name, at: now) { jar in fields.flatMap { jar.receive($0, from: url, at: now) } }
        if !keys.isEmpty { changed?(keys) }
    }
}
