import Threading
import TransferCore
import TransferModel

/// The cookies of one owner: the jar for all tasks, and the jars of sessions that have their own. They share a limit.
final class CookieStorage: Sendable {
    /// The jars by session. The empty name is the jar for all tasks.
    private let jars: Guarded<[String: CookieJar]>
    private let most: Int

    init(_ jars: [String: CookieJar] = [:], most: Int = Bounds.cookies) {
        self.jars = Guarded(jars)
        self.most = most
    }

    func isEmpty(_ name: String) -> Bool { jars.withLock { $0[name]?.isEmpty ?? true } }

    func jar(_ name: String) -> CookieJar { jars.withLock { $0[name] ?? CookieJar(most: most) } }

    func entry(_ name: String, _ key: Cookie.Identity) -> (cookie: Cookie, created: Int64)? {
        jars.withLock { $0[name]?.entry(key) }
    }

    /// See `CookieJar.field`.
    func field(_ name: String, _ request: CookieRequest, at now: Timestamp, without names: Set<String>) -> String? {
        jars.withLock { $0[name]?.field(for: request, at: now, without: names) }
    }

    func restore(_ stored: Cookie, created: Int64, in name: String) {
        jars.withLock { $0[name, default: CookieJar(most: most)].restore(stored, created: created) }
    }

    /// - Returns: the keys of the changed cookies, by session.
    func change(
        _ name: String, at now: Timestamp, _ body: (inout CookieJar) -> [CookieJar.Change]
    ) -> [String: [Cookie.Identity]] {
        jars.withLock { jars in
            var changed = [name: body(&jars[name, default: CookieJar(most: most)]).map(\.key)]
            // Above the common limit, expired cookies go first. Then the session with the most cookies loses one.
            if Self.count(jars) > most {
                for name in Array(jars.keys) {
                    let ended = jars[name]?.expire(at: now) ?? []
                    changed[name, default: []] += ended.map(\.key)
                }
            }
            while Self.count(jars) > most,
                let largest = jars.max(by: { $0.value.count < $1.value.count })?.key,
                let change = jars[largest]?.giveOneUp()
            {
                changed[largest, default: []].append(change.key)
            }
            // Names of sessions have no end.
            for name in changed.keys where jars[name]?.isEmpty == true { jars[name] = nil }
            return changed.filter { !$0.value.isEmpty }
        }
    }

    /// The number of jars that are not empty.
    var jarCount: Int { jars.withLock { $0.count } }

    private static func count(_ jars: [String: CookieJar]) -> Int { jars.values.reduce(0) { $0 + $1.count } }
}
