/// What a store on a disk has besides its database.
struct StoreFiles: Sendable {
    let folder: StateFolder
    let lock: InstanceLock
    let reserve: Reserve
    let place: DatabasePlace
}
