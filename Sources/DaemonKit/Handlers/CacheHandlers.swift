import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// cache.info and cache.remove. Both concern only the user who asks.
enum CacheHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.cacheInfo) { parameters, context in
            let usage = try await Self.usage(parameters.storage, context, services)
            return Caches(
                storages: usage.sorted { $0.name < $1.name }.map { name, memory, disk in
                    CacheStorageView(
                        storage: name, memoryUsage: ByteCount(Int64(memory.bytes)), memoryEntries: memory.entries,
                        diskUsage: ByteCount(Int64(disk.bytes)), diskEntries: disk.entries)
                })
        }
        table.add(Methods.removeCached) { parameters, context in
            let url = try parameters.url.map { try URLRules.parse($0).requestURL }
            let storages = try await Self.usage(parameters.storage, context, services).map { Self.storage($0.name) }
            let removed = await services.cache.remove(context.peer.uid, storages, url: url, since: parameters.since)
            return RemovedCached(memoryEntries: removed.memory, diskEntries: removed.disk)
        }
    }

    /// On the wire, the owner's own storage has the name of the shared session. That session always exists and has no
    /// cache of its own.
    private static func storage(_ name: String) -> String { name == SessionKey.sharedIdentifier ? "" : name }

    /// Returns the storages that the connection may see. Those of other connections' volatile sessions are hidden.
    /// - Throws: `session.in_use` if the wanted one is such a storage.
    private static func usage(
        _ wanted: String?, _ context: RequestContext, _ services: Services
    ) async throws(TransferError) -> [(name: String, memory: CacheUsage, disk: CacheUsage)] {
        let owner = context.peer.uid
        if let wanted {
            _ = try services.tasks(of: SessionKey(owner: owner, identifier: wanted), context)
        }
        return await services.cache.usage(of: owner).compactMap { storage, usage in
            let name = storage.isEmpty ? SessionKey.sharedIdentifier : storage
            let key = SessionKey(owner: owner, identifier: name)
            guard wanted.map({ $0 == name }) ?? true,
                (try? services.volatile.owns(key, context.connection.id)) != nil
            else { return nil }
            return (name, usage.memory, usage.disk)
        }
    }
}
