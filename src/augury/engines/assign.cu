// The kernel for assignments: a problem from its costs to a proven answer; see problem.cuh.

extern "C" __global__ void __launch_bounds__(THREADS) assign(const Batch batch) {
    MEMORY
    const int group = threadIdx.x / LANES;
    const wide number_of = (wide)blockIdx.x * GROUPS + group;
    if (number_of >= batch.num_problems) return;
    Shared shared;
    shared.few_price = memory + group * (SHARED_BYTES / 8);
    shared.many_price = shared.few_price + FEW;
    shared.mate = (short*)(shared.many_price + SIDE);
    shared.row_of = shared.mate + SIDE;
    shared.parent = shared.row_of + SIDE;
    shared.queue = shared.parent + SIDE;
    shared.rest = shared.many_price + SIDE + SIDE;

    const wide start = number_of * batch.num_left * batch.num_right;
    Given given = {(const number*)batch.costs + start, batch.allowed ? batch.allowed + start : nullptr,
                   batch.sizes ? batch.sizes[2 * number_of] : batch.num_left,
                   batch.sizes ? batch.sizes[2 * number_of + 1] : batch.num_right,
                   batch.num_right, (bool)batch.negates, true};
    const bool is_inside = 0 <= given.num_left && given.num_left <= batch.num_left
                        && 0 <= given.num_right && given.num_right <= batch.num_right;
    if (!is_inside) given.num_left = given.num_right = 0;
    number* kept = (number*)shared.rest;
    Problem own = measured(given, kept);
    if (!is_inside || !own.is_valid) own.num_left = own.num_right = 0;
    int faults = is_inside && own.is_valid ? 0 : INVALID;

    // While only units are needed, and then planes of bits.
    const int few = own.few(), many = own.many();
    wide* table = batch.tables + number_of * FEW * STRIDE;
    if (few) {
#if !FITS
        if (own.is_narrow) searched<int>(filled<int>(table, given, own), few, many, shared);
        else searched<wide>(filled<wide>(table, given, own), few, many, shared);
#elif IS_SHORT
        meet();
        if (own.is_narrow) searched<int>(converted<int>(kept, given, own), few, many, shared);
        else {
            const Scale scale(own.offset, own.exponent, given.negates);
            searched<wide>(Kept{kept, given, own, scale}, few, many, shared);
        }
#else
        meet();
        searched<wide>(converted<wide>(kept, given, own), few, many, shared);
#endif
    }
    Planes planes;
    planes.exact = (bits*)shared.rest;
    planes.barred = batch.barred + number_of * batch.num_left * WORDS;
    planes.live = planes.exact + batch.num_left * WORDS;
    planes.reach = planes.live + WORDS;
    planes.loose = (int*)(planes.reach + WORDS);
    short* column_of = own.is_turned() ? shared.row_of : shared.mate;
    short* row_of = own.is_turned() ? shared.mate : shared.row_of;
    if (few) {
        faults |= weighed(given, own, shared, planes.exact, planes.barred);
        meet();
        settled(own, shared, planes, column_of, row_of);
    } else
        for (int k = threadIdx.x % LANES; k < many; k += LANES) shared.row_of[k] = NONE, shared.many_price[k] = 0;
    proven(batch, number_of, own, shared, planes, column_of, row_of, faults);
}
