// The kernel for assignments: a problem from its costs to a proven answer; see problem.cuh.
//
// It runs twice: by tables of ints, and, IS_AGAIN, for the problems that the first run has left: those of which a
// table says too little, and those in which pairs are barred though there was no mask.

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) assign(const Batch batch) {
    MEMORY
    const int group = threadIdx.x / LANES;
    const wide number_of = (wide)blockIdx.x * GROUPS + group;
    if (number_of >= batch.num_problems) return;
    const bool is_by_table = !IS_AGAIN || batch.status[number_of] == LATER;
    if (!is_by_table && batch.status[number_of] != AGAIN) return;
    const int most_few = min(batch.num_left, batch.num_right), most_many = max(batch.num_left, batch.num_right);
    Shared shared;
    shared.few_price = memory + group * (batch.bytes / 8);
    shared.many_price = shared.few_price + most_few;
    shared.pairs = (int*)(shared.many_price + most_many);
    shared.parent = (short*)shared.pairs;
    shared.queue = shared.parent + most_many;
    shared.mate = shared.queue + most_many;
    shared.row_of = shared.mate + most_many;
    shared.rest = shared.many_price + most_many + most_many;

    const wide start = number_of * batch.num_left * batch.num_right;
    Given given = {(const number*)batch.costs + start, batch.allowed ? batch.allowed + start : nullptr,
                   batch.sizes ? batch.sizes[2 * number_of] : batch.num_left,
                   batch.sizes ? batch.sizes[2 * number_of + 1] : batch.num_right,
                   batch.num_right, (bool)batch.negates, true};
    const bool is_inside = 0 <= given.num_left && given.num_left <= batch.num_left
                        && 0 <= given.num_right && given.num_right <= batch.num_right;
    if (!is_inside) given.num_left = given.num_right = 0;
    Problem own = measured(given);
    int faults = is_inside && own.is_valid ? 0 : INVALID;
    if (faults) given.num_left = given.num_right = own.num_left = own.num_right = 0;

    Planes planes;
    planes.exact = (bits*)shared.rest;
    planes.barred = batch.barred + number_of * batch.num_left * WORDS;
    planes.columns = planes.exact + batch.num_left * WORDS;
    short* column_of = own.is_turned() ? shared.row_of : shared.mate;
    short* row_of = own.is_turned() ? shared.mate : shared.row_of;
    const int few = own.few(), many = own.many();
    const Units units = {given, own};
    bool is_known = false;
    together();
    if (is_by_table && !own.is_for_later) {
#if FITS
        int* cells = (int*)shared.rest;
#else
        int* cells = batch.tables + number_of * most_few * batch.stride;
#endif
        const Table table = {cells, batch.stride};
        fill(table, given, own);
        together();
        searched(table, few, many, shared, (int*)shared.rest + batch.table_bytes / 4);
        together();
        is_known = !own.is_rounded || repaired(table, units, own, shared);
        together();
        const int found = is_known ? weighed(given, own, shared, planes.exact, planes.barred) : 0;
        is_known = is_known && !(own.is_rounded && found & UNPROVEN);
        if (is_known) faults |= found;
    }
    if (!is_known) {
#if IS_AGAIN
        searched(units, few, many, shared, shared.rest);
        faults |= weighed(given, own, shared, planes.exact, planes.barred);
#else
        if (threadIdx.x % LANES == 0) batch.status[number_of] = own.is_for_later ? LATER : AGAIN;
        return;
#endif
    }
    meet();
    together();
    settled(own, faults & HAS_BARRED, shared, planes, column_of, row_of);
    together();
    proven(batch, number_of, own, shared, planes, column_of, faults);
}
